"""The types of the fields of a pod by name. Every name has the same type wherever it occurs in a pod.

The names are those of Kubernetes 1.36, and `queue` and `minResources` of Volcano's PodGroup. `port` is missing because
it is a number or a name. `values` is missing because it contains strings, but numbers in `exitCodes`.
"""


def _split_names(text: str) -> frozenset[str]:
    return frozenset(text.split())


TEXTS = _split_names(
    """
    accessModes action add apiGroup apiVersion args audience cachingMode certificateChainPath claimName command
    conditionType containerName credentialBundlePath datasetName datasetUUID devicePath directory diskName diskURI
    divisor dnsPolicy driver drop effect endpoints fieldPath fieldsType finalizers fsGroupChangePolicy fsType
    gateway generateName gmsaCredentialSpec gmsaCredentialSpecName group host hostIP hostname hostnameOverride
    hostnames image imagePullPolicy initiatorName ip iqn iscsiInterface key keyPath keyType keyring kind level
    localhostProfile manager matchLabelKeys medium mismatchLabelKeys monitors mountPath mountPropagation name
    nameservers namespace namespaces nodeAffinityPolicy nodeName nodeTaintsPolicy operation operator path pdID
    pdName podGroupName pool portals preemptionPolicy prefix priorityClassName procMount protectionDomain protocol
    pullPolicy queue recursiveReadOnly reference registry repository request resource resourceClaimName
    resourceClaimTemplateName resourceName resourceVersion restartPolicy revision role runAsUserName
    runtimeClassName schedulerName scheme seLinuxChangePolicy searches secretFile secretName selfLink server service
    serviceAccount serviceAccountName shareName signerName sizeLimit stopSignal storageClassName storageMode
    storagePolicyID storagePolicyName storagePool subPath subPathExpr subdomain subresource supplementalGroupsPolicy
    system targetContainerName targetPortal targetWWNs tenant terminationMessagePath terminationMessagePolicy
    topologyKey type uid user value volume volumeAttributesClassName volumeID volumeMode volumeName volumeNamespace
    volumePath whenUnsatisfiable workingDir wwids
    """
)
INTEGERS = _split_names(
    """
    activeDeadlineSeconds containerPort defaultMode deletionGracePeriodSeconds expirationSeconds failureThreshold
    fsGroup generation hostPort initialDelaySeconds lun maxExpirationSeconds maxSkew minDomains mode partition
    periodSeconds priority runAsGroup runAsUser seconds successThreshold supplementalGroups
    terminationGracePeriodSeconds timeoutSeconds tolerationSeconds weight
    """
)
BOOLEANS = _split_names(
    """
    allowPrivilegeEscalation automountServiceAccountToken blockOwnerDeletion chapAuthDiscovery chapAuthSession
    controller enableServiceLinks hostIPC hostNetwork hostPID hostProcess hostUsers optional privileged readOnly
    readOnlyRootFilesystem runAsNonRoot setHostnameAsFQDN shareProcessNamespace sslEnabled stdin stdinOnce tty
    """
)

TEXT_MAPS = _split_names(
    """
    annotations labels limits matchLabels minResources nodeSelector options overhead requests userAnnotations
    volumeAttributes
    """
)
"""Maps with string values. One exception: in the DNS settings of a pod, `options` is a list."""

OCTAL_INTEGERS = frozenset({"defaultMode", "mode"})
"""File permissions: integers that are octal if they start with a zero."""
