// SPDX-License-Identifier: Apache-2.0

// Package admission stands where pods, workloads and policies enter the cluster. It
// expands the set that a container asks for into CPU and memory, writes who is
// charged, closes the gate before quota, refuses what contradicts the set or cannot
// be had at once with a sentence that says what to change, and refuses
// PartitionPolicies that cannot work on the nodes they select.
//
// # Decisions and transport
//
// The decisions are pure functions: [Expand], [Check], [CheckResize] and
// [CheckPolicy] of an object and the sets that exist, [Charge] of the facts about a
// request. [Identity] gathers those facts. [PodMutator], [Stamper], [NoteStamper],
// [PodValidator], [WorkloadValidator], [ScaleValidator] and [PolicyValidator] carry
// them over HTTPS, with a certificate that package cert keeps. Each refusal has a
// [Reason], the same word in the answer's causes and in the metric.
//
// # Who is charged
//
// A person for what they write; the owner of an object for what a trusted controller
// makes of it, once the owner's uid is verified; for what a ServiceAccount of the
// namespace writes, whoever it is bound to; else nobody, and the object is refused.
// Only kinds that are stamped here may own what is charged ([Kinds]).
//
// The webhooks decide on creation. That nothing else is believed, and nothing
// changes afterwards, is kept by ValidatingAdmissionPolicies of the chart
// (templates/identity), which the API server evaluates itself. Each of the two
// stands alone: with the policies gone, no forged stamp is created; with the
// webhooks gone, none gets past the policies. docs/identity.md says so for people,
// and the tests of cmd/aipub-controller try it.
//
// # Dry runs and repetition
//
// Nothing here has side effects: what is charged is what the gate lets through, so a
// review that is repeated, dry or followed by somebody else's refusal costs nothing.
// Mutation is idempotent, and keyed by nothing: a generated name is not known yet.
//
// # What an outage of ours may block
//
// In namespaces labelled aipub.io/project: the creation of pods and workloads that
// ask for something named aipub.io/…, of volume claims and of what makes them, and
// changes of the queue's order, of gangs and of extensions; and writes of
// PartitionPolicies. For these,
// failurePolicy is Fail: what slipped in unseen would be held and charged to
// nobody. All else goes on: the namespace selector leaves out unmanaged namespaces
// and kube-system, even when somebody labels the latter, and the match conditions,
// which the API server evaluates itself, leave out what is not charged. A selector,
// not an objectSelector: users can choose their objects' labels but not their
// namespace's.
//
// # What the cluster must contain
//
// The webhook configurations and policies of the chart (templates/webhook,
// templates/identity), the former both named [ConfigurationName] and without
// caBundle: the controller puts it in, and changes nothing else. A Secret named by
// --cert-secret in our own namespace; it may be created empty, so that the
// controller needs no right but get and update on that one name (where it is
// missing, the controller tries to create it). A Service named by
// --webhook-service, port 443 to the container port 9443.
//
// Ephemeral containers and the resources of a pod as a whole need no rule:
// Kubernetes itself forbids the former any resources, and the latter all but
// its own.
//
// The annotation aipub.io/sets that expansion leaves on a pod is for people and
// tools; nothing trusts it.
package admission
