// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// WorkspaceEnv is one variable.
//
// +kubebuilder:validation:XValidation:rule="(has(self.value)?1:0) + (has(self.secret)?1:0) + (has(self.configMap)?1:0) <= 1",message="give one of value, secret and configMap"
type WorkspaceEnv struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^[ -<>-~]*$')",message="a variable's name has no = and no other than printable ASCII characters; write what follows the = into value"
	Name string `json:"name"`
	// +optional
	Value *string `json:"value,omitempty"`
	// secret and configMap take the value from an object of the namespace.
	// +optional
	Secret *KeyOf `json:"secret,omitempty"`
	// +optional
	ConfigMap *KeyOf `json:"configMap,omitempty"`
}

// KeyOf is a key of a Secret or ConfigMap.
type KeyOf struct {
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// +kubebuilder:validation:MinLength=1
	Key string `json:"key"`
}

// WorkspacePort is a TCP port.
type WorkspacePort struct {
	// name as in a Service: lower case, at most 15 characters.
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]{0,13}[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self.matches('[a-z]') && !self.contains('--')",message="a port's name has a letter at least, and no two - in a row; give another, such as http"
	Name string `json:"name"`
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
}

// WorkspaceHome is the volume that stays. The claim is named home-NAME and goes
// with the Workspace, unless keep is true.
//
// +kubebuilder:validation:XValidation:rule="has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)",message="storageClassName cannot change; make a new Workspace"
// +kubebuilder:validation:XValidation:rule="quantity(string(self.size)).compareTo(quantity(string(oldSelf.size))) >= 0",message="size cannot shrink"
type WorkspaceHome struct {
	// size can grow where the storage class allows.
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('0')) > 0",message="size must be above 0, such as 50Gi"
	Size resource.Quantity `json:"size"`
	// storageClassName, the cluster's default without it.
	// +optional
	StorageClassName *string `json:"storageClassName,omitempty"`
	// path in the container.
	// +kubebuilder:default=/home/user
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/.+`
	// +optional
	Path string `json:"path,omitempty"`
	// keep leaves the claim behind when the Workspace is deleted.
	// +optional
	Keep bool `json:"keep,omitempty"`
}

// WorkspaceVolume mounts a claim of the namespace.
type WorkspaceVolume struct {
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('aipub-')",message="names that begin with aipub- are AIPub's own; give another"
	Name string `json:"name"`
	// claimName of a PersistentVolumeClaim.
	// +kubebuilder:validation:MinLength=1
	ClaimName string `json:"claimName"`
	// path in the container.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/.+`
	Path string `json:"path"`
	// +optional
	ReadOnly bool `json:"readOnly,omitempty"`
}

// WorkspaceHook is a command in the container.
type WorkspaceHook struct {
	// command with its arguments; no shell.
	// +kubebuilder:validation:MinItems=1
	// +listType=atomic
	Command []string `json:"command"`
	// timeoutSeconds after which it has failed. The Workspace then stays up.
	// +kubebuilder:default=60
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	// +optional
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
}

// WorkspaceActivity says whom to ask.
type WorkspaceActivity struct {
	// jupyter is asked for its kernels and terminals.
	// +optional
	Jupyter *JupyterActivity `json:"jupyter,omitempty"`
}

// JupyterActivity is where a Jupyter server answers.
type JupyterActivity struct {
	// +kubebuilder:default=8888
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	Port int32 `json:"port,omitempty"`
	// basePath is the server's base URL.
	// +kubebuilder:default=/
	// +kubebuilder:validation:Pattern=`^/`
	// +optional
	BasePath string `json:"basePath,omitempty"`
	// token is a key of a Secret of the namespace, where the server asks for one.
	// +optional
	Token *KeyOf `json:"token,omitempty"`
}
