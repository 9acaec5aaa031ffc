// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	api "aipub.io/aipub/api/v1alpha1"
)

const (
	// containerName of the one container.
	containerName = "workspace"
	// templateAnnotation says which spec a pod was made from.
	templateAnnotation = "aipub.io/workspace-spec"
	// imageAnnotation is the spec.image that a pod was made from.
	imageAnnotation = "aipub.io/workspace-image"
)

func labels(w *api.Workspace) map[string]string {
	return map[string]string{api.WorkspaceLabel: w.Name}
}

// ClaimName is the name of a Workspace's home.
func ClaimName(w *api.Workspace) string { return "home-" + w.Name }

// usesSaved reports whether it starts from its saved file system: the image that this
// was saved from is still the one wanted, and nobody asked to start from that.
func usesSaved(w *api.Workspace) bool {
	saved := w.Status.Saved
	return saved != nil && saved.BaseImage == w.Spec.Image && w.Annotations[api.FromImageAnnotation] != saved.Snapshot
}

// runner is the StatefulSet of a Workspace. A change of it takes effect when its pod
// is made anew, which nothing but a pause and a resume does.
func runner(w *api.Workspace, replicas int32) *appsv1.StatefulSet {
	spec := podSpec(w)
	return &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: owned(w, w.Name),
		Spec: appsv1.StatefulSetSpec{
			Replicas:       &replicas,
			ServiceName:    w.Name,
			Selector:       &metav1.LabelSelector{MatchLabels: labels(w)},
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels(w), Annotations: map[string]string{templateAnnotation: digest(spec), imageAnnotation: w.Spec.Image}},
				Spec:       spec,
			},
		},
	}
}

func owned(w *api.Workspace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.Namespace, Name: name, Labels: labels(w), OwnerReferences: []metav1.OwnerReference{{
		APIVersion: api.GroupVersion.String(), Kind: "Workspace", Name: w.Name, UID: w.UID, Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
	}}}
}

func podSpec(w *api.Workspace) corev1.PodSpec {
	image, node := w.Spec.Image, ""
	if usesSaved(w) {
		image, node = w.Status.Saved.Image, w.Status.Saved.Node
	}
	c := corev1.Container{
		Name: containerName, Image: image, Command: w.Spec.Command, Args: w.Spec.Args, Env: environment(w),
		Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{
			corev1.ResourceName(api.ResourcePrefix + w.Spec.Set): *resource.NewQuantity(int64(max(w.Spec.Count, 1)), resource.DecimalSI),
		}},
	}
	for _, p := range w.Spec.Ports {
		c.Ports = append(c.Ports, corev1.ContainerPort{Name: p.Name, ContainerPort: p.Port, Protocol: corev1.ProtocolTCP})
	}
	spec := corev1.PodSpec{
		ServiceAccountName:            w.Spec.ServiceAccountName,
		TerminationGracePeriodSeconds: w.Spec.StopSeconds,
		SecurityContext: &corev1.PodSecurityContext{
			RunAsUser: w.Spec.RunAsUser, RunAsGroup: w.Spec.RunAsGroup, FSGroup: w.Spec.FSGroup,
			FSGroupChangePolicy: ptr.To(corev1.FSGroupChangeOnRootMismatch),
		},
	}
	if w.Spec.ServiceAccountName == "" {
		spec.AutomountServiceAccountToken = ptr.To(false)
	}
	if node != "" {
		// Its file system is in that node's image store and nowhere else.
		c.ImagePullPolicy = corev1.PullNever
		spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{
				Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}}}},
		}}}
	}
	for _, name := range w.Spec.ImagePullSecrets {
		spec.ImagePullSecrets = append(spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
	spec.Volumes, c.VolumeMounts = volumes(w)
	spec.Containers = []corev1.Container{c}
	return spec
}

func environment(w *api.Workspace) []corev1.EnvVar {
	out := make([]corev1.EnvVar, 0, len(w.Spec.Env))
	for _, e := range w.Spec.Env {
		v := corev1.EnvVar{Name: e.Name, Value: ptr.Deref(e.Value, "")}
		switch {
		case e.Secret != nil:
			v.ValueFrom = &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: e.Secret.Name}, Key: e.Secret.Key}}
		case e.ConfigMap != nil:
			v.ValueFrom = &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: e.ConfigMap.Name}, Key: e.ConfigMap.Key}}
		}
		out = append(out, v)
	}
	return out
}

func volumes(w *api.Workspace) (out []corev1.Volume, mounts []corev1.VolumeMount) {
	claim := func(name, claimName, path string, readOnly bool) {
		out = append(out, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claimName, ReadOnly: readOnly}}})
		mounts = append(mounts, corev1.VolumeMount{Name: name, MountPath: path, ReadOnly: readOnly})
	}
	if w.Spec.Home != nil {
		claim("aipub-home", ClaimName(w), w.Spec.Home.Path, false)
	}
	for _, v := range w.Spec.Volumes {
		claim(v.Name, v.ClaimName, v.Path, v.ReadOnly)
	}
	if w.Spec.SharedMemory != nil {
		out = append(out, corev1.Volume{Name: "aipub-shm", VolumeSource: corev1.VolumeSource{
			EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: w.Spec.SharedMemory}}})
		mounts = append(mounts, corev1.VolumeMount{Name: "aipub-shm", MountPath: "/dev/shm"})
	}
	return out, mounts
}

// digest names a pod's spec.
func digest(spec corev1.PodSpec) string {
	raw, err := json.Marshal(spec)
	if err != nil { // of plain data: it cannot be
		return fmt.Sprint(err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}

func quantity(bytes int64) *resource.Quantity {
	if bytes <= 0 {
		return nil
	}
	return resource.NewQuantity(bytes, resource.BinarySI)
}
