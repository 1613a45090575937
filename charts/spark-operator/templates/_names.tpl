{{- define "spark-operator.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* The name of all objects of the chart, short enough for the suffix of the webhook. */}}
{{- define "spark-operator.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else if contains (include "spark-operator.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "spark-operator.name" .) | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{/* The name of cluster-scoped objects. It contains the namespace of the release: two releases may have the same name. */}}
{{- define "spark-operator.clusterName" -}}
{{- printf "%s-%s" .Release.Namespace (include "spark-operator.fullname" .) }}
{{- end }}

{{- define "spark-operator.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "spark-operator.fullname" .) .Values.serviceAccount.name }}
{{- else -}}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "spark-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ include "spark-operator.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "spark-operator.labels" -}}
{{ include "spark-operator.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "spark-operator.image" -}}
{{- $repository := required "image.repository is required: no image of the controller is published. Build the image with the Dockerfile of the project, push it to your registry, and set image.repository to its name" .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{ $repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ $repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end }}
{{- end }}

{{/* The scope of the permissions: "cluster" (a ClusterRole) or "namespaces" (a Role in each namespace). */}}
{{- define "spark-operator.scope" -}}
{{- if or .Values.watch.allNamespaces .Values.watch.namespaceSelector }}cluster{{ else }}namespaces{{ end }}
{{- end }}

{{/* The watched namespaces as a JSON object with the key "names", for fromJson. */}}
{{- define "spark-operator.namespaces" -}}
{{- dict "names" (.Values.watch.namespaces | default (list .Release.Namespace) | uniq) | toJson }}
{{- end }}

{{/* The label selector in the syntax of kubectl -l, built from matchLabels and matchExpressions. */}}
{{- define "spark-operator.namespaceSelector" -}}
{{- $parts := list }}
{{- range $key, $value := .matchLabels }}
{{- $parts = append $parts (printf "%s=%s" $key $value) }}
{{- end }}
{{- range .matchExpressions }}
{{- if eq .operator "Exists" }}{{ $parts = append $parts .key }}
{{- else if eq .operator "DoesNotExist" }}{{ $parts = append $parts (printf "!%s" .key) }}
{{- else }}{{ $parts = append $parts (printf "%s %s (%s)" .key (lower .operator) (join "," .values)) }}
{{- end }}
{{- end }}
{{- join "," $parts }}
{{- end }}
