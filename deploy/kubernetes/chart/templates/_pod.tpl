{{- /* The pods of every kind. */}}
{{- define "snowfence.pod" -}}
metadata:
  labels:
    {{- include "snowfence.labels" . | nindent 4 }}
    {{- if eq .Values.kind "Pair" }}
    snowfence.example/active: "false" # the pod itself sets it when it gives ids
    {{- end }}
  annotations:
    snowfence.example/config: {{ include "snowfence.config" . | sha256sum | trunc 16 | quote }} # a changed configuration restarts the pods
spec:
  serviceAccountName: {{ .Release.Name }}
  automountServiceAccountToken: {{ include "snowfence.asks" . | eq "true" }}
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ add .Values.linger .Values.drain 10 }} # linger, drain, and worker ids given back
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    seccompProfile: {type: RuntimeDefault}
  {{- if ne .Values.kind "DaemonSet" }}
  topologySpreadConstraints:
    {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
    - topologyKey: {{ . }}
      maxSkew: 1
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "snowfence.labels" $ | nindent 10 }}
    {{- end }}
  {{- end }}
  {{- with .Values.scheduling }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  containers:
    - name: snowfence
      image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [serve, --config, /etc/snowfence/snowfence.yaml]
      {{- if or (has .Values.kind (list "Pair" "StatefulSet")) .Values.env }}
      env:
        {{- if eq .Values.kind "Pair" }}
        - {name: SNOWFENCE_POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        {{- end }}
        {{- if eq .Values.kind "StatefulSet" }}
        {{- range $name, $_ := include "snowfence.fenced" . | fromYaml }}
        - name: SNOWFENCE_GENERATORS_{{ $name | upper | replace "-" "_" }}_WORKER
          valueFrom: {fieldRef: {fieldPath: "metadata.labels['apps.kubernetes.io/pod-index']"}}
        {{- end }}
        {{- end }}
        {{- with .Values.env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- end }}
      ports:
        {{- range $front, $port := .Values.ports }}
        {{- if $port }}
        - {name: {{ $front }}, containerPort: {{ $port }}}
        {{- end }}
        {{- end }}
        - {name: health, containerPort: 7680}
      startupProbe:
        httpGet: {path: /livez, port: health}
        periodSeconds: 1
        failureThreshold: 60
      livenessProbe:
        httpGet: {path: /livez, port: health}
        timeoutSeconds: 5
      readinessProbe: # a pod that stands by is ready
        httpGet: {path: /readyz, port: health}
        periodSeconds: 2
        timeoutSeconds: 2
        failureThreshold: 2
      resources:
        requests: {cpu: {{ .Values.cpu }}, memory: {{ div .Values.memory 2 }}Mi}
        limits: {memory: {{ div (mul .Values.memory 5) 4 }}Mi}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      volumeMounts:
        - {name: config, mountPath: /etc/snowfence/snowfence.yaml, subPath: snowfence.yaml, readOnly: true}
        {{- if .Values.tls }}
        - {name: tls, mountPath: /etc/snowfence/tls, readOnly: true}
        {{- end }}
        {{- if .Values.tokens }}
        - {name: tokens, mountPath: /etc/snowfence/tokens, readOnly: true}
        {{- end }}
        {{- if .Values.storeCA.secret }}
        - {name: store-ca, mountPath: /etc/snowfence/store, readOnly: true}
        {{- end }}
        {{- if include "snowfence.data" . }}
        - {name: data, mountPath: /data}
        {{- end }}
  volumes:
    - {name: config, configMap: {name: {{ .Release.Name }}}}
    {{- with .Values.tls }}
    - {name: tls, secret: {secretName: {{ . }}, defaultMode: 0440}}
    {{- end }}
    {{- with .Values.tokens }}
    - {name: tokens, secret: {secretName: {{ . }}, defaultMode: 0440}}
    {{- end }}
    {{- with .Values.storeCA }}
    {{- if .secret }}
    - {name: store-ca, secret: {secretName: {{ .secret }}, defaultMode: 0440, items: [{key: {{ .key }}, path: ca.crt}]}}
    {{- end }}
    {{- end }}
    {{- if .Values.claim }}
    - {name: data, persistentVolumeClaim: {claimName: {{ .Values.claim }}}}
    {{- else if include "snowfence.data" . }}
    - {name: data, emptyDir: {}} # for the journal: it outlives a restart of the container, and ends with the pod
    {{- end }}
{{- end }}
