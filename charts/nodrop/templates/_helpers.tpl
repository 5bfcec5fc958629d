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

{{/* Whether the archive ends with the operator's pod. */}}
{{- define "nodrop.archiveLost" -}}
{{- if and (include "nodrop.archiveVolume" .) (hasKey (.Values.archive.volume | default dict) "emptyDir") }}true{{ end }}
{{- end }}

{{- define "nodrop.image" -}}
{{ include "nodrop.pinnedImage" (dict "repository" .Values.image.repository "tag" (.Values.image.tag | default .Chart.AppVersion)) }}
{{- end }}

{{- define "nodrop.deviceImage" -}}
{{ include "nodrop.pinnedImage" (dict "repository" .Values.deviceImage.repository "tag" (.Values.deviceImage.tag | default .Chart.AppVersion)) }}
{{- end }}

{{/* The lab's namespace. Its pods are privileged, the operator is not. */}}
{{- define "nodrop.lab" -}}
{{- if eq .Values.lab.namespace .Release.Namespace }}
{{- fail (printf "lab.namespace is the release's namespace %s: install the operator into a namespace of its own, such as nodrop-system, since pods in the lab are privileged" .Release.Namespace) }}
{{- end }}
{{- .Values.lab.namespace }}
{{- end }}

{{/* Path of the archive's volume in the operator; releases before this value have none. */}}
{{- define "nodrop.archivePath" -}}
{{ .Values.archive.path | default "/var/lib/nodrop/archive" }}
{{- end }}

{{/* An image: a tag, or a digest after @. */}}
{{- define "nodrop.pinnedImage" -}}
{{ .repository }}{{ ternary "" ":" (hasPrefix "@" .tag) }}{{ .tag }}
{{- end }}

{{/* The Secret with the passwords of InfluxDB, and that with Grafana's. */}}
{{- define "nodrop.influxdbSecret" -}}
{{ .Values.influxdb.existingSecret | default "nodrop-influxdb" }}
{{- end }}

{{- define "nodrop.grafanaSecret" -}}
{{ .Values.grafana.existingSecret | default "nodrop-grafana" }}
{{- end }}

{{- define "nodrop.influxdbURL" -}}
http://nodrop-influxdb.{{ .Release.Namespace }}.svc:8086
{{- end }}

{{/* Where the recorder writes: the InfluxDB of the chart, or what the values say. */}}
{{- define "nodrop.database" -}}
{{- $r := .Values.recorder }}
{{- if .Values.influxdb.enabled }}
{{- if not $r.enabled }}
{{- fail "influxdb.enabled needs recorder.enabled=true: otherwise nothing writes to it" }}
{{- end }}
{{- if or $r.url $r.tokenSecret.name $r.database $r.org $r.bucket }}
{{- fail "influxdb.enabled installs the recorder's database: leave recorder.url, database, org, bucket and tokenSecret out, or influxdb" }}
{{- end }}
{{- dict "url" (include "nodrop.influxdbURL" .) "api" "v2" "bucket" "nodrop/autogen" "tokenSecret" (dict "name" (include "nodrop.influxdbSecret" .) "key" "recorder-token") | toJson }}
{{- else }}
{{- pick $r "url" "api" "database" "retentionPolicy" "org" "bucket" "tokenSecret" "caSecret" | toJson }}
{{- end }}
{{- end }}

{{/* A claim that stays when the chart is uninstalled. */}}
{{- define "nodrop.claim" -}}
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "nodrop.labels" .root | nindent 4 }}
  annotations:
    helm.sh/resource-policy: keep
spec:
  accessModes: {{- toYaml .claim.accessModes | nindent 2 }}
  {{- with .claim.storageClassName }}
  storageClassName: {{ . }}
  {{- end }}
  resources:
    requests: {storage: {{ .claim.size }}}
{{- end }}
