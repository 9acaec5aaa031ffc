// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
	nodekube "aipub.io/aipub/node/kube"
	"aipub.io/aipub/partitioner"
	partitionerkube "aipub.io/aipub/partitioner/kube"
)

const gib = int64(1) << 30

// clock is when the tests take place, and made when the objects were made.
var (
	clock = time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC)
	made  = metav1.NewTime(clock.Add(-72 * time.Hour))
)

// migProfiles are some of what the driver offers on a GPU with 141 GB.
func migProfiles() []gpu.Profile {
	profile := func(enum, id int, name string, compute, size, most int, gigs float64, starts ...int) gpu.Profile {
		p := gpu.Profile{Enum: enum, ID: id, Name: name, ComputeSlices: compute, MemorySlices: size,
			MemoryBytes: int64(gigs * float64(gib)), MaxCount: most}
		for _, s := range starts {
			p.Placements = append(p.Placements, gpu.Placement{Start: s, Size: size})
		}
		return p
	}
	return []gpu.Profile{
		profile(0, 19, "1g.18gb", 1, 1, 7, 16.5, 0, 1, 2, 3, 4, 5, 6),
		profile(1, 14, "2g.35gb", 2, 2, 3, 33, 0, 2, 4),
		profile(2, 9, "3g.71gb", 3, 4, 2, 66, 0, 4),
		profile(3, 5, "4g.71gb", 4, 4, 1, 66, 0),
		profile(4, 0, "7g.141gb", 7, 8, 1, 139, 0),
	}
}

// cards makes GPUs of one model, half of them on each NUMA node; on none when
// numa is false.
func cards(node string, n int, model string, numa bool) []gpu.GPU {
	var out []gpu.GPU
	for i := range n {
		g := gpu.GPU{
			Index: i, Minor: i, UUID: fmt.Sprintf("GPU-%x-0000-0000-0000-%012d", node, i), Model: model,
			MemoryBytes: 141 * gib, NUMANode: gpu.NUMAUnknown,
		}
		if numa {
			g.NUMANode = i * 2 / n
		}
		if model == "NVIDIA H200" {
			g.MIG = &gpu.MIG{LiveToggle: true, Profiles: migProfiles()}
		}
		out = append(out, g)
	}
	return out
}

// world builds the objects of a cluster.
type world struct {
	facts
	gpus map[string][]gpu.GPU
}

// addNode adds a ready node with 64 CPUs and 512Gi whose agent has reported the
// GPUs but no slices.
func (w *world) addNode(name string, labels map[string]string, gpus []gpu.GPU) {
	w.addSilentNode(name, labels)
	np := api.NodePartition{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: made}}
	np.Status = api.NodePartitionStatus{
		DriverVersion: "580.95.05", AgentVersion: "v0.1.0", BootID: "boot-1", GPUCount: int32(len(gpus)),
		Models: nodekube.Models(gpus), GPUs: nodekube.GPUs(gpus, nil, nil),
	}
	for id := range int32(2) {
		np.Status.NUMA = append(np.Status.NUMA, api.NUMANode{ID: id, CPUs: 32, Memory: resource.MustParse("256Gi")})
	}
	w.partitions.Items = append(w.partitions.Items, np)
	if w.gpus == nil {
		w.gpus = map[string][]gpu.GPU{}
	}
	w.gpus[name] = gpus
}

// addSilentNode adds a node that no agent has reported on.
func (w *world) addSilentNode(name string, labels map[string]string) {
	amounts := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("64"),
		corev1.ResourceMemory: resource.MustParse("512Gi"),
	}
	w.nodes.Items = append(w.nodes.Items, corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, CreationTimestamp: made},
		Status: corev1.NodeStatus{
			Allocatable: amounts, Capacity: amounts,
			NodeInfo:   corev1.NodeSystemInfo{BootID: "boot-1"},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: made}},
		},
	})
}

// apply puts a policy in force as controller and agents would: ResourceSets,
// statuses, and the slices of every node that it governs.
func (w *world) apply(t *testing.T, p api.PartitionPolicy) {
	t.Helper()
	p.Generation, p.CreationTimestamp = 1, made
	w.policies.Items = append(w.policies.Items, p)
	outcome := partitionerkube.Judge(partitionerkube.Snapshot{Policies: w.policies.Items, Nodes: w.nodes.Items,
		Partitions: w.partitions.Items, Sets: w.sets.Items, Now: metav1.NewTime(clock)})
	var sets []partitioner.Set
	for name, s := range outcome.Sets {
		sets = append(sets, partitioner.SetOf(name, s.Spec))
	}
	for i := range w.nodes.Items {
		n := &w.nodes.Items[i]
		if winner, _ := partitioner.Govern(w.policies.Items, n.Labels); winner != nil && winner.Name == p.Name && w.gpus[n.Name] != nil {
			w.cut(n, p, sets)
		}
	}
	w.settle()
}

// settle brings what the controller and the agents sum up in line with slices.
func (w *world) settle() {
	for i := range w.partitions.Items {
		s := &w.partitions.Items[i].Status
		s.Sets = countSets(s.Slices)
	}
	outcome := partitionerkube.Judge(partitionerkube.Snapshot{Policies: w.policies.Items, Nodes: w.nodes.Items,
		Partitions: w.partitions.Items, Sets: w.sets.Items, Now: metav1.NewTime(clock)})
	w.sets.Items = nil
	for name, s := range outcome.Sets {
		w.sets.Items = append(w.sets.Items, api.ResourceSet{
			ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: made}, Spec: s.Spec, Status: s.Status})
	}
	slices.SortFunc(w.sets.Items, func(a, b api.ResourceSet) int { return strings.Compare(a.Name, b.Name) })
	for i := range w.policies.Items {
		w.policies.Items[i].Status = outcome.Policies[w.policies.Items[i].Name]
	}
}

// cut fills a node's status with the slices of its layout, all free.
func (w *world) cut(n *corev1.Node, p api.PartitionPolicy, sets []partitioner.Set) {
	np := w.partition(n.Name)
	layout, report := partitioner.Plan(partitionerkube.FromNodePartition(np, n.Status.Allocatable), p.Spec, sets)
	snap := gpu.Snapshot{Totals: layout.Totals, Left: layout.Totals}
	for _, s := range layout.Slices {
		snap.Slices = append(snap.Slices, gpu.Status{Slice: s, State: gpu.StateFree, Health: gpu.Health{OK: true}, Since: clock.Add(-26 * time.Hour)})
		n.Status.Allocatable[corev1.ResourceName(gpu.ResourceName(s.Set))] = resource.MustParse("1")
	}
	np.Status.Policy, np.Status.PolicyGeneration = p.Name, p.Generation
	np.Status.GPUs = nodekube.GPUs(w.gpus[n.Name], layout.Modes, nil)
	for i, g := range np.Status.GPUs {
		if g.Mode == api.GPUBlock {
			np.Status.GPUs[i].Fences = []api.Fence{api.FenceCgroupMemory, api.FenceLimiter}
		}
	}
	np.Status.Slices = nodekube.Slices(snap)
	np.Status.Rejections = report.Rejections
	np.Status.Remainder = api.Reserve{
		CPU:    resource.NewMilliQuantity(report.Remainder.CPUMilli, resource.DecimalSI),
		Memory: resource.NewQuantity(report.Remainder.MemoryBytes, resource.BinarySI),
	}
	np.Status.Conditions = []metav1.Condition{{Type: api.ConditionReady, Status: metav1.ConditionTrue, Reason: api.ReasonApplied, LastTransitionTime: made}}
}

func countSets(all []api.NodeSlice) []api.SetOnNode {
	var out []api.SetOnNode
	for _, s := range all {
		i := slices.IndexFunc(out, func(n api.SetOnNode) bool { return n.Name == s.Set })
		if i < 0 {
			i = len(out)
			out = append(out, api.SetOnNode{Name: s.Set})
		}
		if s.State != api.SliceState(gpu.StateRetired) {
			out[i].Total++
		}
		if s.State == api.SliceState(gpu.StateFree) {
			out[i].Free++
		}
		if isHeld(s) {
			out[i].Held++
		}
	}
	return out
}

func (w *world) partition(name string) *api.NodePartition {
	i := slices.IndexFunc(w.partitions.Items, func(np api.NodePartition) bool { return np.Name == name })
	return &w.partitions.Items[i]
}

func (w *world) node(name string) *corev1.Node {
	i := slices.IndexFunc(w.nodes.Items, func(n corev1.Node) bool { return n.Name == name })
	return &w.nodes.Items[i]
}

// hold gives the nth slice of a set on a node to a container, and blocks others.
func (w *world) hold(node, set string, nth int, h api.Holder) {
	w.mark(node, set, nth, func(s *api.NodeSlice) {
		s.State, s.Holder, s.Since = api.SliceState(gpu.StateHeld), &h, metav1.NewTime(clock.Add(-90*time.Minute))
	})
}

func (w *world) mark(node, set string, nth int, change func(*api.NodeSlice)) {
	np := w.partition(node)
	for i := range np.Status.Slices {
		if s := &np.Status.Slices[i]; s.Set == set {
			if nth == 0 {
				change(s)
				return
			}
			nth--
		}
	}
}

// dumpTo writes the cluster as kubectl get -o yaml does.
func (w *world) dumpTo(t *testing.T, path string) {
	t.Helper()
	raw, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": w.objects()})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (w *world) objects() []any {
	items := []any{}
	for _, o := range w.nodes.Items {
		o.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}
		items = append(items, o)
	}
	of := func(kind string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: kind}
	}
	for _, o := range w.partitions.Items {
		o.TypeMeta = of("NodePartition")
		items = append(items, o)
	}
	for _, o := range w.policies.Items {
		o.TypeMeta = of("PartitionPolicy")
		items = append(items, o)
	}
	for _, o := range w.sets.Items {
		o.TypeMeta = of("ResourceSet")
		items = append(items, o)
	}
	return items
}

// policyOf reads a policy from testdata.
func policyOf(t *testing.T, file string) api.PartitionPolicy {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	policies, err := parsePolicies(f, file)
	if err != nil {
		t.Fatal(err)
	}
	return policies[0]
}

var pool = map[string]string{"aipub.io/pool": "h200"}

// busyWorld is a cluster with a node in use, one whose agent is silent, one that
// is not ready, and one that has nothing to do with AIPub.
func busyWorld(t *testing.T) *world {
	t.Helper()
	w := &world{}
	w.addNode("gpu-01", pool, cards("gpu-01", 4, "NVIDIA H200", true))
	w.addNode("gpu-02", pool, cards("gpu-02", 4, "NVIDIA H200", true))
	w.addSilentNode("gpu-03", pool)
	w.addSilentNode("web-01", nil)
	w.apply(t, policyOf(t, "policy.yaml"))
	w.hold("gpu-01", "small", 0, api.Holder{Namespace: "vision", Pod: "notebook-kim-0", Container: "main"})
	w.mark("gpu-01", "medium", 1, func(s *api.NodeSlice) {
		s.State, s.Reason, s.Message = "Blocked", "Overlap", "what others hold leaves too little of gpu/0/blocks"
	})
	w.hold("gpu-01", "mig-small", 0, api.Holder{Namespace: "vision", Pod: "train-7f9c-0", Container: "trainer"})
	w.hold("gpu-01", "large", 0, api.Holder{})
	w.mark("gpu-01", "large", 0, func(s *api.NodeSlice) { s.Holder = nil })
	w.partition("gpu-02").Status.Conditions[0].Status = metav1.ConditionFalse
	w.partition("gpu-02").Status.Conditions[0].Reason = api.ReasonWaitingForIdle
	w.partition("gpu-02").Status.Conditions[0].Message = "GPU 3 must be idle before it can be cut anew"
	w.partition("gpu-02").Status.GPUs[2].Health = api.Health{Reason: "XidCritical", Message: "Xid 79: the GPU has fallen off the bus"}
	w.mark("gpu-02", "mig-small", 0, func(s *api.NodeSlice) {
		s.State, s.Reason, s.Message = "Unhealthy", "XidCritical", "Xid 79: the GPU has fallen off the bus"
	})
	w.settle()
	return w
}
