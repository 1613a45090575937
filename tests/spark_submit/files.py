"""The files that a submission can refer to, by name."""

CONFIGURATION_FILES = {
    "conf/spark-defaults.conf": "spark.executor.memory 3g\nspark.from.defaults: yes \nother.key 1\n",
    "conf/log4j2.properties": "a = ü\n",
    "conf/sparkling.conf": "left out",
    "conf/spark-env.sh": "#!/bin/sh\n",
    "conf/x.template": "left out",
    "conf/.hidden": "h",
    "hadoop/core-site.xml": "<configuration/>\n",
    "some.properties": "spark.from.file=1\nspark.driver.memory=5g\nspark.wide=a\\u00fcb \\\n  more\n",
    "cert.pem": "CERTIFICATE",
    "krb5.conf": "[libdefaults]\n",
    "other.conf": "[realms]\n",
    "job.py": "pass\n",
    "group.yaml": "apiVersion: x\nmetadata: {name: n, namespace: m, labels: {a: b}}\nspec: {queue: q, minMember: 2}\n",
    "pod.yaml": "# a comment\nspec:\n  priority: 5\n  containers:\n  - name: x\n    env: [{name: A, value: yes}]\n",
    "notpod.yaml": "a: 1\n",
    "bad.yaml": "a: [1\n",
    "two.yaml": "spec: {priority: 1}\n---\nspec: {priority: 2}\n",
    "empty.yaml": "",
    "job.yaml": "apiVersion: batch/v1\nkind: Job\nspec: {completions: 1}\n",
    "twice.yaml": "spec: {priority: 5, priority: 6}\n",
    "types.yaml": """
metadata: {labels: {a: True, b: 0755, c: ~}}
spec:
  hostNetwork: 'true'
  priority: '5'
  terminationGracePeriodSeconds: 010
  hostname: 6
  securityContext: {runAsUser: '1000', runAsNonRoot: 'true', supplementalGroups: [1, '2'],
    sysctls: [{name: a, value: 1}]}
  tolerations: [{key: 1, value: true, tolerationSeconds: '30'}]
  hostAliases: [{ip: 1, hostnames: [1]}]
  dnsConfig: {nameservers: [1], options: [{name: ndots, value: 2}]}
  affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [
    {topologyKey: z, labelSelector: {matchExpressions: [{key: k, operator: In, values: [1, true]}]}}]}}
  volumes:
  - {name: 5, secret: {secretName: 1, defaultMode: '0644', items: [{key: a, path: b, mode: '384'}]}}
  - {name: f, flexVolume: {driver: d, options: {a: 1}}}
  containers:
  - name: 5
    ports: [{containerPort: '80'}]
    env: [{name: A, value: 0755}, {name: B, value: True}, {name: C, value: ~}, {name: D, value: +5}]
    livenessProbe: {failureThreshold: '3', httpGet: {port: '80', httpHeaders: [{name: a, value: 1}]}}
    restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]
""",
    "app.jar": "",
    "other.jar": "",
    "some.zip": "",
    "a b.txt": "blank",
    "dialect.yaml": """
metadata:
  labels: {date: 2020-01-01, word: yes, on: off, number: 5, time: 12:30:45, half: 0.50, truth: true, none: null}
  annotations: {}
  creationTimestamp: null
spec:
  tolerations: []
  activeDeadlineSeconds: 60
  volumes:
  - {name: a, emptyDir: {sizeLimit: 5}}
  - {name: b, secret: {secretName: s, defaultMode: 0644}}
  - {name: c, hostPath: {path: /x, type: }}
  containers:
  - name: &name a
    env: [{name: A, value: 5}, {name: B, value: no}, {name: C, value: }]
    resources: {requests: {ephemeral-storage: 1000}, limits: {}}
    livenessProbe: {httpGet: {port: 80, path: /}, initialDelaySeconds: 0}
    securityContext: {}
    command: []
    workingDir: *name
""",
}
