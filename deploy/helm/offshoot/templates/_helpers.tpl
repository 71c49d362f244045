{{- define "offshoot.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "offshoot.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* Labels of an object of the part .part. */}}
{{- define "offshoot.labels" -}}
{{ include "offshoot.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- define "offshoot.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{/* The configuration of control (packages/contract/src/process-config.ts). write-config.ts fills in the files. */}}
{{- define "offshoot.control-config" -}}
{{- $e := .Values.edge }}
{{- $db := .Values.postgresql }}
{{- $config := dict
  "listen" (dict "host" "0.0.0.0" "port" 8080)
  "public_url" .Values.publicUrl
  "database" (dict "host" $db.host "port" (int $db.port) "user" $db.user "database" $db.database
    "password" (dict "from_file" "/etc/offshoot/postgresql/password"))
  "agents" list
  "edge_secret" (dict "from_file" "/etc/offshoot/secret/edge-secret")
  "operator_key_sha256" (dict "from_file" "/etc/offshoot/secret/operator-key-sha256")
  "preview" $e.preview
  "databases" $e.databases
  "ssh" $e.ssh
  "data_dir" "/var/lib/offshoot/control"
  "console_dir" "/opt/offshoot/console"
  "docs_dir" "/opt/offshoot/docs"
  "commit" (dict "from_file" "/opt/offshoot/COMMIT")
}}
{{- if .Values.e2b.domain.suffix }}
{{- $_ := set $config "gateway_secret" (dict "from_file" "/etc/offshoot/secret/gateway-secret") }}
{{- end }}
{{- with $db.pooler }}
{{- $_ := set $config.database "pooler" (dict "host" .host "port" (int .port)) }}
{{- end }}
{{- if .Values.control.tlsSecretName }}
{{- $_ := set $config "tls" (dict "cert" "/etc/offshoot/tls/tls.crt" "key" "/etc/offshoot/tls/tls.key" "host" "0.0.0.0" "port" 8443) }}
{{- end }}
{{- merge $config .Values.settings | toPrettyJson }}
{{- end }}

{{/* The configuration of the edge. */}}
{{- define "offshoot.edge-config" -}}
{{- $e := .Values.edge }}
{{- $config := dict
  "listen" (dict "host" "0.0.0.0" "port" 8081)
  "suffix" $e.preview.suffix
  "databases" (dict "listen" (dict "host" "0.0.0.0" "port" 5433) "suffix" $e.databases.suffix)
  "ssh" (dict "listen" (dict "host" "0.0.0.0" "port" 2222))
  "agents" list
  "control" (dict "url" .Values.publicUrl "public_url" .Values.publicUrl
    "secret" (dict "from_file" "/etc/offshoot/secret/edge-secret"))
  "trusts_forwarded" $e.trustsForwarded
  "data_dir" "/var/lib/offshoot/edge"
}}
{{- if $e.tlsSecretName }}
{{- $_ := set $config "certificate" (dict "cert" "/etc/offshoot/tls/tls.crt" "key" "/etc/offshoot/tls/tls.key") }}
{{- end }}
{{- $config | toPrettyJson }}
{{- end }}

{{/* The configuration of the gateway for clients of E2B. */}}
{{- define "offshoot.e2b-config" -}}
{{- dict
  "listen" (dict "host" "0.0.0.0" "port" 8082)
  "control_url" .Values.publicUrl
  "edge" (dict "url" (printf "http://%s-edge" (include "offshoot.name" .)) "suffix" .Values.edge.preview.suffix)
  "domain" .Values.e2b.domain
  "gateway_secret" (dict "from_file" "/etc/offshoot/secret/gateway-secret")
  | toPrettyJson }}
{{- end }}

{{/* A command of the image's own Node.js. */}}
{{- define "offshoot.node" -}}/opt/offshoot/node_modules/.bin/node{{- end }}

{{- define "offshoot.unprivileged" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- define "offshoot.unprivileged-pod" -}}
runAsNonRoot: true
runAsUser: 64433
runAsGroup: 64433
fsGroup: 64433
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{/* Writes the configuration with its secrets into memory. .part is control, edge or e2b. */}}
{{- define "offshoot.write-config" -}}
- name: config
  image: {{ include "offshoot.image" .root }}
  imagePullPolicy: {{ .root.Values.image.pullPolicy }}
  command:
    - {{ include "offshoot.node" . }}
    - /opt/offshoot/deploy/write-config.ts
    - /etc/offshoot/config/{{ .part }}.json
    - /run/offshoot/{{ .part }}.json
  securityContext: {{- include "offshoot.unprivileged" . | nindent 4 }}
{{- end }}

{{/* As bin/up starts its services (docs/adr/0047-bundled-services.md). */}}
{{- define "offshoot.service-command" -}}
- {{ include "offshoot.node" . }}
- --scavenger-max-new-space-capacity-mb=4
- --no-concurrent-array-buffer-sweeping
- /opt/offshoot/services/{{ .part }}.js
- /run/offshoot/{{ .part }}.json
{{- end }}

{{/* Folders that a service writes: its data is in PostgreSQL. */}}
{{- define "offshoot.scratch" -}}
- { name: run, emptyDir: { medium: Memory, sizeLimit: 1Mi } }
- { name: data, emptyDir: {} }
- { name: tmp, emptyDir: {} }
{{- end }}
