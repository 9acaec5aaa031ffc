// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"errors"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
)

func volume(name, path string) api.WorkspaceVolume {
	return api.WorkspaceVolume{Name: name, ClaimName: "data", Path: path}
}

// TestWhatCanNeverRunIsRefusedAtOnce asks the API server, which the schema tells.
func TestWhatCanNeverRunIsRefusedAtOnce(t *testing.T) {
	c := start(t)
	home := &api.WorkspaceHome{Size: resource.MustParse("1Gi"), Path: "/work"}
	shm := ptr.To(resource.MustParse("1Gi"))
	for what, tc := range map[string]struct {
		change func(*api.Workspace)
		says   []string // nothing where it is taken
	}{
		"a dot in the name": {func(w *api.Workspace) { w.Name = "lab.kim" }, []string{"metadata.name has no dots", "write - instead"}},
		"one number twice": {func(w *api.Workspace) {
			w.Spec.Ports = []api.WorkspacePort{{Name: "a", Port: 80}, {Name: "b", Port: 8888}, {Name: "c", Port: 8888}}
		}, []string{"spec.ports", "one port number stands there twice; give each number once"}},
		"one port name twice": {func(w *api.Workspace) {
			w.Spec.Ports = []api.WorkspacePort{{Name: "a", Port: 80}, {Name: "a", Port: 8888}}
		}, []string{"spec.ports[1]", "Duplicate"}},
		"a port that is called by a number": {func(w *api.Workspace) { w.Spec.Ports[0].Name = "8888" }, []string{"spec.ports[0].name", `"8888"`, "has a letter"}},
		"two dashes in a port's name":       {func(w *api.Workspace) { w.Spec.Ports[0].Name = "a--b" }, []string{"spec.ports[0].name", "no two - in a row"}},
		"one path twice": {func(w *api.Workspace) {
			w.Spec.Volumes = []api.WorkspaceVolume{volume("a", "/a"), volume("b", "/data"), volume("c", "/data")}
		}, []string{"spec.volumes", "one path stands there twice; give each volume its own"}},
		"the path of home": {func(w *api.Workspace) {
			w.Spec.Home, w.Spec.Volumes = home, []api.WorkspaceVolume{volume("a", "/work")}
		}, []string{"spec.volumes", "path /work is that of home; give another"}},
		"the path of home, as it is filled in": {func(w *api.Workspace) {
			w.Spec.Home, w.Spec.Volumes = &api.WorkspaceHome{Size: home.Size}, []api.WorkspaceVolume{volume("a", "/home/user")}
		}, []string{"path /home/user is that of home"}},
		"the path of shared memory": {func(w *api.Workspace) {
			w.Spec.SharedMemory, w.Spec.Volumes = shm, []api.WorkspaceVolume{volume("a", "/dev/shm")}
		}, []string{"/dev/shm is that of sharedMemory"}},
		"a name of ours":            {func(w *api.Workspace) { w.Spec.Volumes = []api.WorkspaceVolume{volume("aipub-home", "/a")} }, []string{"spec.volumes[0].name", `"aipub-home"`, "give another"}},
		"no account's name":         {func(w *api.Workspace) { w.Spec.ServiceAccountName = "My_Account" }, []string{"spec.serviceAccountName", `"My_Account"`, "lower case letters"}},
		"a variable with its value": {func(w *api.Workspace) { w.Spec.Env = []api.WorkspaceEnv{{Name: "A=b"}} }, []string{"spec.env[0].name", `"A=b"`, "has no ="}},
		"a variable of two lines":   {func(w *api.Workspace) { w.Spec.Env = []api.WorkspaceEnv{{Name: "A\nB"}} }, []string{"spec.env[0].name", "printable"}},
		"all of it, as it should be": {func(w *api.Workspace) {
			w.Spec.Home, w.Spec.SharedMemory, w.Spec.ServiceAccountName = home, shm, "my.account-1"
			w.Spec.Volumes = []api.WorkspaceVolume{volume("a", "/a"), volume("b", "/b")}
			w.Spec.Ports = append(w.Spec.Ports, api.WorkspacePort{Name: "p8080", Port: 8080})
			w.Spec.Env = []api.WorkspaceEnv{{Name: "A"}, {Name: "with.dots-and_more"}}
		}, nil},
		"little": {func(w *api.Workspace) { w.Spec.Ports = nil }, nil},
		"a volume at /dev/shm, without shared memory": {func(w *api.Workspace) { w.Spec.Volumes = []api.WorkspaceVolume{volume("a", "/dev/shm")} }, nil},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorkspace("lab")
			tc.change(w)
			err := c.Create(t.Context(), w, client.DryRunAll)
			if (err != nil) != (tc.says != nil) {
				t.Fatalf("refused: %v", err)
			}
			for _, part := range tc.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("it says %v, without %q", err, part)
				}
			}
		})
	}
}

// TestARuleThatIsNewHoldsUpNothing has Workspaces from before the schema had its rules.
func TestARuleThatIsNewHoldsUpNothing(t *testing.T) {
	c := start(t)
	restore := c.withoutRules(t)
	odd := map[string]func(*api.Workspace){
		"has.a.dot": func(*api.Workspace) {},
		"a-name-that-is-longer-than-what-is-allowed": func(*api.Workspace) {},
		"at-home": func(w *api.Workspace) { w.Spec.Volumes = []api.WorkspaceVolume{volume("a", "/work")} },
		"in-shared-memory": func(w *api.Workspace) {
			w.Spec.SharedMemory, w.Spec.Volumes = ptr.To(resource.MustParse("1Gi")), []api.WorkspaceVolume{volume("a", "/dev/shm")}
		},
		"twice": func(w *api.Workspace) {
			w.Spec.Volumes = []api.WorkspaceVolume{volume("a", "/a"), volume("b", "/a")}
		},
	}
	for name, change := range odd {
		w := newWorkspace(name)
		w.Finalizers = []string{api.HomeFinalizer}
		w.Spec.Home = &api.WorkspaceHome{Size: resource.MustParse("1Gi"), Path: "/work"}
		change(w)
		eventually(t, "make "+name, func() error { return c.Create(t.Context(), w.DeepCopy()) })
	}
	restore()
	for name := range odd {
		t.Run(name, func(t *testing.T) {
			w := c.workspace(t, name)
			w.Status.Message = "x"
			if err := c.Status().Update(t.Context(), w); err != nil {
				t.Errorf("its status: %v", err)
			}
			w.Spec.Paused = true
			if err := c.Update(t.Context(), w); err != nil {
				t.Errorf("a pause: %v", err)
			}
			if err := c.Delete(t.Context(), w); err != nil {
				t.Fatal(err)
			}
			w = c.workspace(t, name)
			w.Finalizers = nil
			if err := c.Update(t.Context(), w); err != nil {
				t.Errorf("its finalizer: %v", err)
			}
		})
	}
}

// withoutRules takes the rules off the schema of Workspaces, until restore is called.
func (c *cluster) withoutRules(t *testing.T) (restore func()) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	crds, err := client.New(c.config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	set := func(change func(*apiextensionsv1.CustomResourceDefinition)) {
		t.Helper()
		eventually(t, "change the schema", func() error {
			crd := &apiextensionsv1.CustomResourceDefinition{}
			if err := crds.Get(t.Context(), client.ObjectKey{Name: "workspaces.aipub.io"}, crd); err != nil {
				return err
			}
			change(crd)
			return crds.Update(t.Context(), crd)
		})
	}
	var spec apiextensionsv1.CustomResourceDefinitionSpec
	set(func(crd *apiextensionsv1.CustomResourceDefinition) {
		spec = *crd.Spec.DeepCopy()
		dropRules(crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
	})
	return func() {
		set(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec = spec })
		eventually(t, "the rules hold", func() error {
			w := newWorkspace("new.one")
			if err := c.Create(t.Context(), w, client.DryRunAll); err == nil {
				return errors.New("a dot is taken")
			}
			return nil
		})
	}
}

func dropRules(p *apiextensionsv1.JSONSchemaProps) {
	p.XValidations = nil
	for name, q := range p.Properties {
		dropRules(&q)
		p.Properties[name] = q
	}
	if p.Items != nil && p.Items.Schema != nil {
		dropRules(p.Items.Schema)
	}
}
