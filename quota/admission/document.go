// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"aipub.io/aipub/api/v1alpha1"
)

// document is what admission reads of an object of any stamped kind.
type document struct {
	kind schema.GroupKind
	meta metav1.ObjectMeta
	// pod is the spec of the pods that it is or makes; nil for kinds that say it in
	// another way.
	pod *corev1.PodSpec
	// at is where that spec stands, such as spec.template.spec.
	at string
	// own is the spec of a Workspace, nil for other kinds.
	own *v1alpha1.WorkspaceSpec
	// gang is what a Job says of pods that start together, or a CronJob of its Jobs'.
	gang gang
	// replicas is how many pods it makes, 1 unless it says otherwise.
	replicas int64
	// claims is true when a volume claim is made for each of its pods.
	claims bool
}

// gang is an annotation, and what it is measured by.
type gang struct {
	text, field string
	given       bool
	parallelism int64
}

func newGang(prefix string, meta *metav1.ObjectMeta, parallelism *int64) gang {
	g := gang{field: prefix + annotationField(v1alpha1.GangAnnotation), parallelism: 1}
	g.text, g.given = meta.Annotations[v1alpha1.GangAnnotation]
	if parallelism != nil {
		g.parallelism = *parallelism
	}
	return g
}

// readDocument reads an object. Of kinds that are not built in, only the metadata.
func readDocument(kind schema.GroupKind, raw []byte) (document, *failure) {
	d := document{kind: kind, replicas: 1}
	var head struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	if failed := decode(raw, &head); failed != nil {
		return d, failed
	}
	d.meta = head.Metadata
	if kind == workspaceKind {
		return d, d.readWorkspace(raw)
	}
	if _, builtin := BuiltinKinds()[kind]; !builtin {
		return d, nil
	}
	if kind == podKind {
		var pod corev1.Pod
		failed := decode(raw, &pod)
		return podDocument(&pod), failed
	}
	var body struct {
		Spec struct {
			Template    *corev1.PodTemplateSpec `json:"template"`
			JobTemplate struct {
				Metadata metav1.ObjectMeta `json:"metadata"`
				Spec     struct {
					Template    *corev1.PodTemplateSpec `json:"template"`
					Parallelism *int64                  `json:"parallelism"`
				} `json:"spec"`
			} `json:"jobTemplate"`
			VolumeClaimTemplates []json.RawMessage `json:"volumeClaimTemplates"`
			Replicas             *int64            `json:"replicas"`
			Parallelism          *int64            `json:"parallelism"`
		} `json:"spec"`
	}
	if failed := decode(raw, &body); failed != nil {
		return d, failed
	}
	inner := &body.Spec.JobTemplate
	for at, template := range map[string]*corev1.PodTemplateSpec{
		"spec.template.spec": body.Spec.Template, "spec.jobTemplate.spec.template.spec": inner.Spec.Template,
	} {
		if template != nil {
			d.pod, d.at = &template.Spec, at
		}
	}
	switch kind {
	case jobKind:
		d.gang = newGang("", &d.meta, body.Spec.Parallelism)
	case cronJobKind:
		d.gang = newGang("spec.jobTemplate.", &inner.Metadata, inner.Spec.Parallelism)
	}
	for _, count := range []*int64{body.Spec.Replicas, body.Spec.Parallelism} {
		if count != nil {
			d.replicas = *count
		}
	}
	d.claims = len(body.Spec.VolumeClaimTemplates) > 0
	return d, nil
}

// charged reports whether the object, or what is made for it, is charged to
// somebody: then it must not exist without a stamp. The match conditions of the
// chart say the same.
func (d document) charged() bool {
	_, builtin := BuiltinKinds()[d.kind]
	switch {
	case d.claims || d.kind == claimKind || d.kind == workspaceKind:
		return true
	case d.pod == nil:
		return d.kind != serviceAccountKind && !builtin
	}
	ephemeral := func(v corev1.Volume) bool { return v.Ephemeral != nil }
	return asks(d.pod) || slices.ContainsFunc(d.pod.Volumes, ephemeral)
}

// asks reports whether a pod names anything of ours.
func asks(spec *corev1.PodSpec) bool {
	return slices.ContainsFunc(containersOf(spec), func(a ask) bool { return len(ownNames(a.container.Resources)) > 0 })
}
