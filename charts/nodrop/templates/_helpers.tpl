{{/* There is one lab per cluster, since its definitions and webhooks are the
     cluster's: names are fixed. */}}

{{- define "nodrop.selector" -}}
app.kubernetes.io/name: nodrop
app.kubernetes.io/component: operator
{{- end }}

{{- define "nodrop.labels" -}}
app.kubernetes.io/name: nodrop
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{- end }}

{{/* Not empty where the archive is a directory on a volume. */}}
{{- define "nodrop.archiveVolume" -}}
{{- if and .Values.archive.enabled (not .Values.archive.url) }}true{{ end }}
{{- end }}

{{- define "nodrop.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "nodrop.deviceImage" -}}
{{ .Values.deviceImage.repository }}:{{ .Values.deviceImage.tag | default .Chart.AppVersion }}
{{- end }}

{{/* The lab's namespace. Its pods are privileged, the operator is not. */}}
{{- define "nodrop.lab" -}}
{{- if eq .Values.lab.namespace .Release.Namespace }}
{{- fail (printf "lab.namespace is the release's namespace %s: install the operator into a namespace of its own, such as nodrop-system, since pods in the lab are privileged" .Release.Namespace) }}
{{- end }}
{{- .Values.lab.namespace }}
{{- end }}
