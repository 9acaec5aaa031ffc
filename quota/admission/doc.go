// SPDX-License-Identifier: Apache-2.0

// Package admission stands where pods and policies enter the cluster. It
// expands the set that a container asks for into CPU and memory, refuses what
// contradicts the set with a sentence that says what to change, and refuses
// PartitionPolicies that cannot work on the nodes they select.
//
// # Decisions and transport
//
// The decisions are pure functions of an object and the sets that exist:
// [Expand], [Check], [CheckResize] and [CheckPolicy]. [PodMutator],
// [PodValidator] and [PolicyValidator] carry them over HTTPS, with a certificate
// that package cert keeps. Each refusal has a [Reason], the same word
// in the answer's causes and in the metric.
//
// # What an outage of ours may block
//
// Only pods that ask for something named aipub.io/… in namespaces labelled
// aipub.io/project, and writes of PartitionPolicies. For these, failurePolicy
// is Fail: a set pod that slipped in unexpanded would hold a GPU without the
// CPU and memory that belong to it, and its neighbours would pay for it. For
// everything else in the cluster nothing is asked of us at all: the namespace
// selector leaves out unmanaged namespaces and kube-system, even when somebody
// labels the latter, and the match conditions, which the API server evaluates
// itself, leave out all other pods of managed namespaces. A selector, not an
// objectSelector: users can choose their pods' labels but not their
// namespace's.
//
// # What the cluster must contain
//
// A Secret named by --cert-secret in our own namespace; it may be created
// empty, so that the controller needs no right but get and update on that one
// name (where it is missing, the controller tries to create it). A Service
// named by --webhook-service, port 443 to the container port 9443. And the two
// objects below, both named [ConfigurationName], without caBundle: the
// controller puts it in, and changes nothing else (get and patch on these two
// names).
//
//	apiVersion: admissionregistration.k8s.io/v1
//	kind: MutatingWebhookConfiguration
//	metadata: {name: aipub}
//	webhooks:
//	- name: pods.sets.aipub.io
//	  clientConfig: {service: {namespace: NAMESPACE, name: SERVICE, port: 443, path: /mutate-pods}}
//	  rules:
//	  - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods], scope: Namespaced}
//	  namespaceSelector:
//	    matchExpressions:
//	    - {key: aipub.io/project, operator: Exists}
//	    - {key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, NAMESPACE]}
//	  matchConditions:
//	  - name: asks-for-aipub
//	    expression: >-
//	      (object.spec.containers + (has(object.spec.initContainers) ? object.spec.initContainers : []))
//	      .exists(c, has(c.resources) && (
//	      (has(c.resources.limits) && c.resources.limits.exists(r, r.startsWith('aipub.io/'))) ||
//	      (has(c.resources.requests) && c.resources.requests.exists(r, r.startsWith('aipub.io/')))))
//	  failurePolicy: Fail
//	  matchPolicy: Equivalent
//	  reinvocationPolicy: IfNeeded
//	  sideEffects: None
//	  timeoutSeconds: 5
//	  admissionReviewVersions: [v1]
//	---
//	apiVersion: admissionregistration.k8s.io/v1
//	kind: ValidatingWebhookConfiguration
//	metadata: {name: aipub}
//	webhooks:
//	- name: pods.sets.aipub.io
//	  clientConfig: {service: {namespace: NAMESPACE, name: SERVICE, port: 443, path: /validate-pods}}
//	  rules:
//	  - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods], scope: Namespaced}
//	  - {apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [pods/resize], scope: Namespaced}
//	  namespaceSelector:
//	    matchExpressions:
//	    - {key: aipub.io/project, operator: Exists}
//	    - {key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, NAMESPACE]}
//	  matchConditions:
//	  - name: asks-for-aipub
//	    expression: >-
//	      (object.spec.containers + (has(object.spec.initContainers) ? object.spec.initContainers : []))
//	      .exists(c, has(c.resources) && (
//	      (has(c.resources.limits) && c.resources.limits.exists(r, r.startsWith('aipub.io/'))) ||
//	      (has(c.resources.requests) && c.resources.requests.exists(r, r.startsWith('aipub.io/')))))
//	  failurePolicy: Fail
//	  matchPolicy: Equivalent
//	  sideEffects: None
//	  timeoutSeconds: 5
//	  admissionReviewVersions: [v1]
//	- name: partitionpolicies.aipub.io
//	  clientConfig: {service: {namespace: NAMESPACE, name: SERVICE, port: 443, path: /validate-partitionpolicies}}
//	  rules:
//	  - {apiGroups: [aipub.io], apiVersions: [v1alpha1], operations: [CREATE, UPDATE], resources: [partitionpolicies], scope: Cluster}
//	  failurePolicy: Fail
//	  matchPolicy: Equivalent
//	  sideEffects: None
//	  timeoutSeconds: 10
//	  admissionReviewVersions: [v1]
//
// Ephemeral containers and the resources of a pod as a whole need no rule:
// Kubernetes itself forbids the former any resources, and the latter all but
// its own.
//
// The annotation aipub.io/sets that expansion leaves on a pod is for people and
// tools; nothing trusts it.
package admission
