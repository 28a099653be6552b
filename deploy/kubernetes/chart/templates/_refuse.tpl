{{- /* Refuses values that could repeat ids, let strangers in, or never get ready. */}}
{{- define "snowfence.refuse" -}}
{{- $kind := .Values.kind }}
{{- if not (or (include "snowfence.guarded" .) .Values.networkPolicy.enabled) }}
{{- fail "without tls and tokens, anybody who reaches the pods gets ids: set both, or networkPolicy.enabled" }}
{{- end }}
{{- if not (or .Values.ports.http .Values.ports.resp .Values.ports.grpc .Values.ports.thrift) }}
{{- fail "ports: all are off: no program could ask for ids" }}
{{- else if and .Values.monitor.enabled (not .Values.ports.http) }}
{{- fail "monitor: metrics are at ports.http, which is off" }}
{{- end }}
{{- $stores := .Values.config.stores | default dict }}
{{- range $url := prepend (values $stores) (get $stores .Values.store | default .Values.store) }}
{{- if hasPrefix "file:" $url }}
{{- if or (ne $kind "Deployment") (gt (int $.Values.replicas) 1) }}
{{- fail (printf "store %s: a folder is of one host, and pods of two hosts would repeat ids: set replicas: 1 and kind: Deployment, or take another store" $url) }}
{{- else if not $.Values.claim }}
{{- fail (printf "store %s: a folder without a claim (an emptyDir) goes with its pod, and ids would repeat: name a PersistentVolumeClaim in claim" $url) }}
{{- else if not (regexMatch "^file:/data(/[^.?]*)?$" $url) }}
{{- fail (printf "store %s: must be file:/data or a folder there, where the claim is" $url) }}
{{- end }}
{{- else if not (regexMatch "^(kubernetes|etcd|zookeeper|rediss?|postgres|mysql|nats)://" $url) }}
{{- fail (printf "store %s: pods can't share it: write kubernetes:///, etcd://, zookeeper://, redis://, rediss://, postgres://, mysql:// or nats://" $url) }}
{{- end }}
{{- end }}
{{- if and .Values.claim (not (contains "file:/data" (toJson (list .Values.store $stores)))) }}
{{- fail "claim: is for a store file:/data alone" }}
{{- end }}
{{- $pods := get (dict "Deployment" (add1 .Values.replicas) "StatefulSet" .Values.replicas "Pair" 2 "DaemonSet" 1) $kind | int }}
{{- $used := dict }}
{{- range $name, $g := include "snowfence.fenced" . | fromYaml }}
{{- $space := printf "%s %s" ($g.store | default "") ($g.namespace | default $.Values.config.namespace | default "default") }}
{{- $claims := add (get $used $space | default 0) $pods }}
{{- $_ := set $used $space $claims }}
{{- if and (ne $kind "Pair") $g.standby }}
{{- fail (printf "generator %s: standby: true is for kind: Pair, whose Service leads to the pod that gives ids" $name) }}
{{- else if and (eq $kind "StatefulSet") (hasKey $g "worker") }}
{{- fail (printf "generator %s: worker: the ordinal of the pod is its worker id" $name) }}
{{- else if and (hasKey $g "worker") (or (ne $kind "Deployment") (gt (int $.Values.replicas) 1)) }}
{{- fail (printf "generator %s: worker: one worker id is for one pod, and here are more: leave it out, or take kind: StatefulSet" $name) }}
{{- else if and (eq $kind "StatefulSet") (gt $claims (int64 $pods)) }}
{{- fail (printf "generator %s: the ordinal can be the worker id of one generator of a namespace: give it a namespace of its own" $name) }}
{{- else if and (eq $kind "Pair") (include "snowfence.ids" (list $ $g) | int64 | ne 1) }}
{{- fail (printf "generator %s: layout %s: a pair is for one worker id: take a layout without worker bits, such as ms41-seq22" $name $g.layout) }}
{{- end }}
{{- $ids := include "snowfence.ids" (list $ $g) | int64 }}
{{- if and (eq $ids 0) (ne $kind "DaemonSet") }}
{{- fail (printf "generator %s: how many worker ids the layout has is not known here: write the layout's fields, such as ms41-worker10-seq12, or workers: 0-1023" $name) }}
{{- else if and (ne $kind "Pair") (not (hasKey $g "worker")) (gt $claims $ids) (gt $ids 0) }}
{{- fail (printf "generator %s: %d pods, with one more during an update, claim a worker id for each generator of a namespace, and there are %d: take a layout with more worker bits, or fewer replicas" $name $pods $ids) }}
{{- end }}
{{- end }}
{{- end }}

{{- /* How many worker ids the values and a generator leave to the pods; 0 if that is not known. */}}
{{- define "snowfence.ids" -}}
{{- $g := index . 1 }}
{{- $layout := $g.layout | default (index . 0).Values.config.layout | default "ms41-worker10-seq12" }}
{{- if or (hasKey $g "preset") (and (eq ($g.kind | default "") "wide") (not $g.layout)) }}{{ $layout = "" }}{{ end }}
{{- if $g.workers -}}
{{- $ends := splitList "-" $g.workers }}{{ sub (last $ends | int64) (first $ends | int64) | add1 }}
{{- else if not (regexMatch "(^|-)[0-9]*(us|ms|s|min|h)[0-9]+(-|@|$)" $layout) }}0
{{- else }}
{{- $n := 1 }}
{{- $fields := ternary "worker" "worker|datacenter" (hasKey $g "datacenter") }}
{{- range regexFindAll (printf "(^|-)(%s)[0-9]+" $fields) $layout -1 }}
{{- range until (regexFind "[0-9]+$" . | int | min 40 | int) }}{{ $n = mul $n 2 }}{{ end }}
{{- end }}
{{- $n }}
{{- end }}
{{- end }}
