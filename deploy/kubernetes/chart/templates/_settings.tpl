{{- define "snowfence.labels" -}}
app.kubernetes.io/name: snowfence
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* Not empty if clients must show a token over TLS. */}}
{{- define "snowfence.guarded" }}{{ if and .Values.tls .Values.tokens }}true{{ end }}{{ end }}

{{- /* Not empty if pods ask the API server, for leases or for the label of the active one. */}}
{{- define "snowfence.leases" }}{{ if contains "kubernetes://" (toJson (list .Values.store .Values.config.stores)) }}true{{ end }}{{ end }}
{{- define "snowfence.asks" }}{{ if or (include "snowfence.leases" .) (eq .Values.kind "Pair") }}true{{ end }}{{ end }}

{{- /* Not empty if the daemon keeps files: a store in the claim, or the journal beside a store that can lose writes. */}}
{{- define "snowfence.data" -}}
{{- $keeps := or .Values.claim .Values.config.journal }}
{{- range $url := prepend (values (.Values.config.stores | default dict)) .Values.store }}
{{- $server := regexMatch "^(rediss?|postgres|mysql|nats)://" $url }}
{{- if or (contains "loss=" $url) (and $server (not (contains "durable=true" $url))) }}{{ $keeps = true }}{{ end }}
{{- end }}
{{- if $keeps }}true{{ end }}
{{- end }}

{{- /* The generators with fenced ids, by name, as YAML. Those of a pair stand by. */}}
{{- define "snowfence.fenced" -}}
{{- $fenced := dict }}
{{- range $name, $g := .Values.config.generators | default (dict "default" dict) }}
{{- $g = deepCopy ($g | default dict) }}
{{- if has ($g.kind | default "snowflake") (list "snowflake" "wide") }}
{{- if eq $.Values.kind "Pair" }}
{{- $layout := $.Values.config.layout | default "ms41-seq22" }}
{{- $g = merge $g (dict "layout" $layout "window" "1s" "standby" true "policy" (dict "max-wait" "10ms")) }}
{{- end }}
{{- $_ := set $fenced $name $g }}
{{- end }}
{{- end }}
{{- toYaml $fenced }}
{{- end }}

{{- /* The daemon's configuration. */}}
{{- define "snowfence.config" -}}
{{- $own := dict "store" .Values.store "health" ":7680" "log" (dict "format" "json") "generators" (include "snowfence.fenced" . | fromYaml) }}
{{- $_ := set $own "limits" (dict "linger" (printf "%ds" (int .Values.linger)) "drain" (printf "%ds" (int .Values.drain)) "memory" (printf "%dMiB" (int .Values.memory))) }}
{{- range $front, $port := .Values.ports }}
{{- $_ := set $own $front (ternary (printf ":%d" (int $port)) "" (gt (int $port) 0)) }}
{{- end }}
{{- if .Values.tls }}
{{- $_ := set $own "tls" (dict "certificate" "/etc/snowfence/tls/tls.crt" "key" "/etc/snowfence/tls/tls.key") }}
{{- end }}
{{- if .Values.tokens }}
{{- $_ := set $own "token-file" "/etc/snowfence/tokens/tokens" }}
{{- end }}
{{- if not (include "snowfence.guarded" .) }}
{{- $_ := set $own "insecure" true }}
{{- end }}
{{- if include "snowfence.data" . }}
{{- $_ := set $own "data" "/data" }}
{{- end }}
{{- toYaml (mergeOverwrite (deepCopy .Values.config) $own) }}
{{- end }}
