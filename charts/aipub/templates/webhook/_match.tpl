{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/* Managed namespaces only; kube-system and our own not even when labelled. */}}
{{- define "aipub.managed" -}}
namespaceSelector:
  matchExpressions:
  - {key: aipub.io/project, operator: Exists}
  - {key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, {{ .Release.Namespace }}]}
{{- end }}

{{/* Only pods that ask for something of ours. The API server evaluates this, so
all other pods are created even while no controller answers. */}}
{{- define "aipub.asks" -}}
matchConditions:
- name: asks-for-aipub
  expression: >-
    (object.spec.containers + (has(object.spec.initContainers) ? object.spec.initContainers : []))
    .exists(c, {{ include "aipub.cel.containerAsks" . | indent 4 | trim }})
{{- end }}

{{/* aipub.webhook (dict "path" PATH "policy" FAILUREPOLICY "effects" SIDEEFFECTS "root" $) */}}
{{- define "aipub.webhook" -}}
clientConfig:
  service:
    namespace: {{ .root.Release.Namespace }}
    name: aipub-webhook
    port: 443
    path: {{ .path }}
failurePolicy: {{ .policy | default "Fail" }}
matchPolicy: Equivalent
sideEffects: {{ .effects | default "None" }}
admissionReviewVersions: [v1]
{{ include "aipub.managed" .root }}
{{- end }}
