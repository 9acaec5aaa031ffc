// SPDX-License-Identifier: Apache-2.0

package api

// Node is the part of a Kubernetes Node that is read here.
type Node struct {
	Status struct {
		Conditions []struct{ Type, Status, Reason, Message string }
		NodeInfo   struct{ BootID, KubeletVersion string }
		Capacity   map[string]string
	}
}

// Ready reports whether the kubelet says that the node takes pods, or why not.
func (n Node) Ready() (ready bool, why string) {
	for _, c := range n.Status.Conditions {
		if c.Type == "Ready" {
			return c.Status == "True", c.Reason + ": " + c.Message
		}
	}
	return false, "no Ready condition yet"
}
