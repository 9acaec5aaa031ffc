{{/* SPDX-License-Identifier: Apache-2.0

What the webhooks' match conditions and the policies have in common. docs/identity.md
says what they are for. */}}

{{- define "aipub.controllerUser" -}}
system:serviceaccount:{{ .Release.Namespace }}:aipub-controller
{{- end }}

{{/* User names of the controllers that act for an object's owner, as JSON. */}}
{{- define "aipub.trusted" -}}
{{- $trusted := list "system:kube-controller-manager" }}
{{- range list "cronjob-controller" "daemon-set-controller" "deployment-controller" "ephemeral-volume-controller" "job-controller" "replicaset-controller" "replication-controller" "statefulset-controller" }}
{{- $trusted = append $trusted (printf "system:serviceaccount:kube-system:%s" .) }}
{{- end }}
{{- $trusted = append $trusted (include "aipub.controllerUser" .) }}
{{- toJson (concat $trusted .Values.identity.trustedControllers) }}
{{- end }}

{{/* CEL: a container c names something of ours. */}}
{{- define "aipub.cel.containerAsks" -}}
has(c.resources) && (
(has(c.resources.limits) && c.resources.limits.exists(r, r.startsWith('aipub.io/'))) ||
(has(c.resources.requests) && c.resources.requests.exists(r, r.startsWith('aipub.io/'))))
{{- end }}

{{/* CEL: the specs of the pods that an object is or makes. */}}
{{- define "aipub.cel.specs" -}}
(request.kind.kind == 'Pod' ? [object.spec] :
request.kind.kind == 'CronJob' ? [object.spec.jobTemplate.spec.template.spec] :
has(object.spec) && has(object.spec.template) && has(object.spec.template.spec) ? [object.spec.template.spec] : [])
{{- end }}

{{/* CEL: the object, or what is made for it, is charged to somebody. */}}
{{- define "aipub.cel.charged" -}}
{{ include "aipub.cel.specs" . }}.exists(s,
(s.?containers.orValue([]) + s.?initContainers.orValue([])).exists(c, {{ include "aipub.cel.containerAsks" . }}) ||
s.?volumes.orValue([]).exists(v, has(v.ephemeral))) ||
size(object.?spec.?volumeClaimTemplates.orValue([])) > 0
{{- end }}

{{/* Rules for the workload kinds of Kubernetes; aipub.workloads (dict "operations" LIST "status" BOOL) */}}
{{- define "aipub.workloads" -}}
{{- $rules := list
  (dict "group" "" "resources" (list "replicationcontrollers"))
  (dict "group" "apps" "resources" (list "deployments" "statefulsets" "replicasets" "daemonsets"))
  (dict "group" "batch" "resources" (list "jobs" "cronjobs")) }}
{{- range $rules }}
{{- $resources := .resources }}
{{- if $.status }}
{{- range .resources }}
{{- $resources = append $resources (printf "%s/status" .) }}
{{- end }}
{{- end }}
- {apiGroups: [{{ .group | quote }}], apiVersions: [v1], operations: [{{ join ", " $.operations }}], resources: [{{ join ", " $resources }}], scope: Namespaced}
{{- end }}
{{- end }}

{{/* Rules for what is always charged, whatever it says: volume claims, our own
kinds and those of identity.kinds; aipub.always (dict "operations" LIST "root" $) */}}
{{- define "aipub.always" -}}
- {apiGroups: [""], apiVersions: [v1], operations: [{{ join ", " .operations }}], resources: [persistentvolumeclaims], scope: Namespaced}
- {apiGroups: [aipub.io], apiVersions: [v1alpha1], operations: [{{ join ", " .operations }}], resources: [workspaces], scope: Namespaced}
{{- range .root.Values.identity.kinds }}
- {apiGroups: [{{ .group }}], apiVersions: ["*"], operations: [{{ join ", " $.operations }}], resources: [{{ .resource }}], scope: Namespaced}
{{- end }}
{{- end }}

{{/* CEL: the request is for one of these. */}}
{{- define "aipub.cel.always" -}}
{{- $kinds := list "PersistentVolumeClaim" "Workspace.aipub.io" }}
{{- range .Values.identity.kinds }}
{{- $kinds = append $kinds (printf "%s.%s" .kind .group) }}
{{- end -}}
(request.kind.kind + (request.kind.group == '' ? '' : '.' + request.kind.group)) in {{ toJson $kinds }}
{{- end }}

{{/* Variables of all policies: the annotations after and before, who asks and who
is charged. */}}
{{- define "aipub.identity.variables" -}}
- {name: notes, expression: "object.metadata.?annotations.orValue({})"}
- {name: before, expression: "oldObject == null ? {} : oldObject.metadata.?annotations.orValue({})"}
- {name: who, expression: request.userInfo.username}
- {name: user, expression: "variables.notes[?'aipub.io/user'].orValue('')"}
- {name: project, expression: "namespaceObject.metadata.?labels[?'aipub.io/project'].orValue('')"}
- name: trusted
  expression: variables.who in {{ include "aipub.trusted" . }}
- name: controller
  expression: variables.who == '{{ include "aipub.controllerUser" . }}'
- name: person
  expression: >-
    variables.who == 'system:admin' || !(variables.who.startsWith('system:') || variables.who.startsWith('project:'))
# A ServiceAccount of the namespace: the policy aipub-identity-accounts says whom it acts for.
- name: local
  expression: variables.who.startsWith('system:serviceaccount:' + request.namespace + ':')
- name: assigns
  expression: >-
    authorizer.group('aipub.io').resource('identities').namespace(request.namespace)
    .name(variables.user == '' ? variables.before[?'aipub.io/user'].orValue('') : variables.user).check('assign').allowed()
- name: reorders
  expression: >-
    authorizer.group('aipub.io').resource('priorityqueues').name(variables.project).check('reorder').allowed()
- name: promotes
  expression: >-
    authorizer.group('aipub.io').resource('priorityqueues').check('promote').allowed()
{{- end }}

{{- define "aipub.binding" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ .name }}
  labels:
    {{- include "aipub.labels" .root | nindent 4 }}
spec:
  policyName: {{ .name }}
  validationActions: [Deny]
{{- end }}
