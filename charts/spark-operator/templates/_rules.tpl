{{/* The permissions of the controller in a watched namespace. Each verb is one of its requests. */}}
{{- define "spark-operator.rules" -}}
- apiGroups: [spark.apache.org]
  resources: [sparkapplications]
  verbs: [get, list, watch, patch, delete]
- apiGroups: [spark.apache.org]
  resources: [sparkapplications/status]
  verbs: [patch]
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch, create, delete]
{{- if .Values.rbac.driverLogs }}
- apiGroups: [""]
  resources: [pods/log]
  verbs: [get]
{{- end }}
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, create, patch, delete]
- apiGroups: [""]
  resources: [services]
  verbs: [get, create, {{ if .Values.rbac.sparkClusters }}patch, {{ end }}delete]
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [get, create, {{ if .Values.rbac.sparkClusters }}patch, {{ end }}delete]
- apiGroups: [""]
  resources: [events]
  verbs: [get, create, patch]
{{- if .Values.rbac.sparkClusters }}
- apiGroups: [spark.apache.org]
  resources: [sparkclusters]
  verbs: [get, list, watch, patch]
- apiGroups: [spark.apache.org]
  resources: [sparkclusters/status]
  verbs: [patch]
- apiGroups: [apps]
  resources: [statefulsets]
  verbs: [get, create, patch, delete]
- apiGroups: [autoscaling]
  resources: [horizontalpodautoscalers]
  verbs: [get, create, patch, delete]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, create, patch, delete]
{{- end }}
{{- if .Values.kueue.enabled }}
- apiGroups: [kueue.x-k8s.io]
  resources: [workloads]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [kueue.x-k8s.io]
  resources: [workloads/status]
  verbs: [patch]
{{- end }}
{{- if .Values.rbac.ingresses }}
- apiGroups: [networking.k8s.io]
  resources: [ingresses]
  verbs: [get, create, delete]
{{- end }}
{{- if .Values.rbac.gatewayRoutes }}
- apiGroups: [gateway.networking.k8s.io]
  resources: [httproutes, grpcroutes]
  verbs: [get, create, delete]
{{- end }}
{{- if .Values.rbac.secrets }}
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, create, delete]
{{- end }}
{{- if .Values.rbac.persistentVolumeClaims }}
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [get, create, delete]
{{- end }}
{{- if .Values.rbac.podGroups }}
- apiGroups: [scheduling.volcano.sh]
  resources: [podgroups]
  verbs: [get, create, patch, delete]
{{- end }}
{{- if .Values.rbac.ownerReferences }}
- apiGroups: [spark.apache.org]
  resources: [sparkapplications/finalizers{{ if .Values.rbac.sparkClusters }}, sparkclusters/finalizers{{ end }}]
  verbs: [update]
- apiGroups: [""]
  resources: [pods/finalizers]
  verbs: [update]
{{- end }}
{{- end }}
