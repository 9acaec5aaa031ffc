{{/* SPDX-License-Identifier: Apache-2.0

Names are fixed: a node has one kubelet and so one agent, hence one release in a
cluster. */}}

{{- define "aipub.labels" -}}
app.kubernetes.io/name: aipub
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* aipub.selector (dict "component" NAME "root" $) */}}
{{- define "aipub.selector" -}}
app.kubernetes.io/name: aipub
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "aipub.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{/* aipub.subjects (dict "name" SERVICEACCOUNT "root" $) */}}
{{- define "aipub.subjects" -}}
subjects:
- kind: ServiceAccount
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
{{- end }}

{{/* aipub.metricsAnnotations (dict "port" PORT "root" $) */}}
{{- define "aipub.metricsAnnotations" -}}
{{- if .root.Values.metrics.annotations -}}
prometheus.io/scrape: "true"
prometheus.io/port: {{ .port | quote }}
prometheus.io/path: /metrics
{{- end }}
{{- end }}

{{/* What a container without need of anything gets. */}}
{{- define "aipub.restricted" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* A hook that exists only while the clean-up runs. */}}
{{- define "aipub.cleanupHook" -}}
helm.sh/hook: post-delete
helm.sh/hook-weight: "0"
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}
