{{- define "kueue.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- /* RELEASE where it holds the chart's name, otherwise RELEASE-NAME. */ -}}
{{- define "kueue.fullname" -}}
{{- $name := include "kueue.name" . -}}
{{- $made := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- .Values.fullnameOverride | default $made | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "kueue.selector" -}}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/name: {{ include "kueue.name" . }}
control-plane: controller-manager
{{- end -}}

{{- define "kueue.labels" -}}
{{ include "kueue.selector" . }}
app.kubernetes.io/component: controller
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{- end -}}

{{- /* A=true,B=false; empty without gates. */ -}}
{{- define "kueue.featureGates" -}}
{{- $gates := list -}}
{{- range .Values.controllerManager.featureGates -}}
{{- $gates = append $gates (printf "%s=%t" .name .enabled) -}}
{{- end -}}
{{- join "," $gates -}}
{{- end -}}

{{- /* The Configuration with what follows from other values. */ -}}
{{- define "kueue.configuration" -}}
{{- $config := tpl .Values.managerConfig.controllerManagerConfigYaml . | fromYaml -}}
{{- if hasKey $config "Error" -}}
{{- fail (printf "managerConfig.controllerManagerConfigYaml is no YAML: %s" $config.Error) -}}
{{- end -}}
{{- $name := include "kueue.fullname" . -}}
{{- $certificates := dict "enable" (not .Values.enableCertManager) -}}
{{- if not .Values.enableCertManager -}}
{{- $_ := set $certificates "webhookServiceName" (printf "%s-webhook-service" $name) -}}
{{- $_ := set $certificates "webhookSecretName" (printf "%s-webhook-server-cert" $name) -}}
{{- end -}}
{{- $_ := set $config "internalCertManagement" (mergeOverwrite (dict) $certificates (get $config "internalCertManagement" | default dict)) -}}
{{- toYaml $config -}}
{{- end -}}
