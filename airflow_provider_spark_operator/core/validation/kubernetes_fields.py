"""The fields of Kubernetes' own types that stand in resources.

Made by `python -m tests.core.validation.kubernetes_types`. A field is its name, and its type where that has fields.
"""

from collections.abc import Mapping
from typing import Final

KUBERNETES_VERSION: Final = "1.36"

_TYPES: Final = {
    "apps.v1.RollingUpdateStatefulSetStrategy": ("maxUnavailable partition"),
    "apps.v1.StatefulSetOrdinals": ("start"),
    "apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy": ("whenDeleted whenScaled"),
    "apps.v1.StatefulSetSpec": (
        "minReadySeconds ordinals=apps.v1.StatefulSetOrdinals "
        "persistentVolumeClaimRetentionPolicy=apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy "
        "podManagementPolicy replicas revisionHistoryLimit selector=meta.v1.LabelSelector serviceName "
        "template=core.v1.PodTemplateSpec updateStrategy=apps.v1.StatefulSetUpdateStrategy "
        "volumeClaimTemplates=core.v1.PersistentVolumeClaim"
    ),
    "apps.v1.StatefulSetUpdateStrategy": ("rollingUpdate=apps.v1.RollingUpdateStatefulSetStrategy type"),
    "autoscaling.v2.ContainerResourceMetricSource": ("container name target=autoscaling.v2.MetricTarget"),
    "autoscaling.v2.CrossVersionObjectReference": ("apiVersion kind name"),
    "autoscaling.v2.ExternalMetricSource": (
        "metric=autoscaling.v2.MetricIdentifier target=autoscaling.v2.MetricTarget"
    ),
    "autoscaling.v2.HPAScalingPolicy": ("periodSeconds type value"),
    "autoscaling.v2.HPAScalingRules": (
        "policies=autoscaling.v2.HPAScalingPolicy selectPolicy stabilizationWindowSeconds tolerance"
    ),
    "autoscaling.v2.HorizontalPodAutoscalerBehavior": (
        "scaleDown=autoscaling.v2.HPAScalingRules scaleUp=autoscaling.v2.HPAScalingRules"
    ),
    "autoscaling.v2.HorizontalPodAutoscalerSpec": (
        "behavior=autoscaling.v2.HorizontalPodAutoscalerBehavior maxReplicas "
        "metrics=autoscaling.v2.MetricSpec minReplicas "
        "scaleTargetRef=autoscaling.v2.CrossVersionObjectReference"
    ),
    "autoscaling.v2.MetricIdentifier": ("name selector=meta.v1.LabelSelector"),
    "autoscaling.v2.MetricSpec": (
        "containerResource=autoscaling.v2.ContainerResourceMetricSource "
        "external=autoscaling.v2.ExternalMetricSource object=autoscaling.v2.ObjectMetricSource "
        "pods=autoscaling.v2.PodsMetricSource resource=autoscaling.v2.ResourceMetricSource type"
    ),
    "autoscaling.v2.MetricTarget": ("averageUtilization averageValue type value"),
    "autoscaling.v2.ObjectMetricSource": (
        "describedObject=autoscaling.v2.CrossVersionObjectReference "
        "metric=autoscaling.v2.MetricIdentifier target=autoscaling.v2.MetricTarget"
    ),
    "autoscaling.v2.PodsMetricSource": ("metric=autoscaling.v2.MetricIdentifier target=autoscaling.v2.MetricTarget"),
    "autoscaling.v2.ResourceMetricSource": ("name target=autoscaling.v2.MetricTarget"),
    "core.v1.AWSElasticBlockStoreVolumeSource": ("fsType partition readOnly volumeID"),
    "core.v1.Affinity": (
        "nodeAffinity=core.v1.NodeAffinity podAffinity=core.v1.PodAffinity podAntiAffinity=core.v1.PodAntiAffinity"
    ),
    "core.v1.AppArmorProfile": ("localhostProfile type"),
    "core.v1.AzureDiskVolumeSource": ("cachingMode diskName diskURI fsType kind readOnly"),
    "core.v1.AzureFileVolumeSource": ("readOnly secretName shareName"),
    "core.v1.CSIVolumeSource": (
        "driver fsType nodePublishSecretRef=core.v1.LocalObjectReference readOnly volumeAttributes"
    ),
    "core.v1.Capabilities": ("add drop"),
    "core.v1.CephFSVolumeSource": ("monitors path readOnly secretFile secretRef=core.v1.LocalObjectReference user"),
    "core.v1.CinderVolumeSource": ("fsType readOnly secretRef=core.v1.LocalObjectReference volumeID"),
    "core.v1.ClientIPConfig": ("timeoutSeconds"),
    "core.v1.ClusterTrustBundleProjection": ("labelSelector=meta.v1.LabelSelector name optional path signerName"),
    "core.v1.ConfigMapEnvSource": ("name optional"),
    "core.v1.ConfigMapKeySelector": ("key name optional"),
    "core.v1.ConfigMapProjection": ("items=core.v1.KeyToPath name optional"),
    "core.v1.ConfigMapVolumeSource": ("defaultMode items=core.v1.KeyToPath name optional"),
    "core.v1.Container": (
        "args command env=core.v1.EnvVar envFrom=core.v1.EnvFromSource image imagePullPolicy "
        "lifecycle=core.v1.Lifecycle livenessProbe=core.v1.Probe name ports=core.v1.ContainerPort "
        "readinessProbe=core.v1.Probe resizePolicy=core.v1.ContainerResizePolicy "
        "resources=core.v1.ResourceRequirements restartPolicy "
        "restartPolicyRules=core.v1.ContainerRestartRule securityContext=core.v1.SecurityContext "
        "startupProbe=core.v1.Probe stdin stdinOnce terminationMessagePath terminationMessagePolicy tty "
        "volumeDevices=core.v1.VolumeDevice volumeMounts=core.v1.VolumeMount workingDir"
    ),
    "core.v1.ContainerPort": ("containerPort hostIP hostPort name protocol"),
    "core.v1.ContainerResizePolicy": ("resourceName restartPolicy"),
    "core.v1.ContainerRestartRule": ("action exitCodes=core.v1.ContainerRestartRuleOnExitCodes"),
    "core.v1.ContainerRestartRuleOnExitCodes": ("operator values"),
    "core.v1.DownwardAPIProjection": ("items=core.v1.DownwardAPIVolumeFile"),
    "core.v1.DownwardAPIVolumeFile": (
        "fieldRef=core.v1.ObjectFieldSelector mode path resourceFieldRef=core.v1.ResourceFieldSelector"
    ),
    "core.v1.DownwardAPIVolumeSource": ("defaultMode items=core.v1.DownwardAPIVolumeFile"),
    "core.v1.EmptyDirVolumeSource": ("medium sizeLimit"),
    "core.v1.EnvFromSource": ("configMapRef=core.v1.ConfigMapEnvSource prefix secretRef=core.v1.SecretEnvSource"),
    "core.v1.EnvVar": ("name value valueFrom=core.v1.EnvVarSource"),
    "core.v1.EnvVarSource": (
        "configMapKeyRef=core.v1.ConfigMapKeySelector fieldRef=core.v1.ObjectFieldSelector "
        "fileKeyRef=core.v1.FileKeySelector resourceFieldRef=core.v1.ResourceFieldSelector "
        "secretKeyRef=core.v1.SecretKeySelector"
    ),
    "core.v1.EphemeralContainer": (
        "args command env=core.v1.EnvVar envFrom=core.v1.EnvFromSource image imagePullPolicy "
        "lifecycle=core.v1.Lifecycle livenessProbe=core.v1.Probe name ports=core.v1.ContainerPort "
        "readinessProbe=core.v1.Probe resizePolicy=core.v1.ContainerResizePolicy "
        "resources=core.v1.ResourceRequirements restartPolicy "
        "restartPolicyRules=core.v1.ContainerRestartRule securityContext=core.v1.SecurityContext "
        "startupProbe=core.v1.Probe stdin stdinOnce targetContainerName terminationMessagePath "
        "terminationMessagePolicy tty volumeDevices=core.v1.VolumeDevice volumeMounts=core.v1.VolumeMount "
        "workingDir"
    ),
    "core.v1.EphemeralVolumeSource": ("volumeClaimTemplate=core.v1.PersistentVolumeClaimTemplate"),
    "core.v1.ExecAction": ("command"),
    "core.v1.FCVolumeSource": ("fsType lun readOnly targetWWNs wwids"),
    "core.v1.FileKeySelector": ("key optional path volumeName"),
    "core.v1.FlexVolumeSource": ("driver fsType options readOnly secretRef=core.v1.LocalObjectReference"),
    "core.v1.FlockerVolumeSource": ("datasetName datasetUUID"),
    "core.v1.GCEPersistentDiskVolumeSource": ("fsType partition pdName readOnly"),
    "core.v1.GRPCAction": ("port service"),
    "core.v1.GitRepoVolumeSource": ("directory repository revision"),
    "core.v1.GlusterfsVolumeSource": ("endpoints path readOnly"),
    "core.v1.HTTPGetAction": ("host httpHeaders=core.v1.HTTPHeader path port scheme"),
    "core.v1.HTTPHeader": ("name value"),
    "core.v1.HostAlias": ("hostnames ip"),
    "core.v1.HostPathVolumeSource": ("path type"),
    "core.v1.ISCSIVolumeSource": (
        "chapAuthDiscovery chapAuthSession fsType initiatorName iqn iscsiInterface lun portals readOnly "
        "secretRef=core.v1.LocalObjectReference targetPortal"
    ),
    "core.v1.ImageVolumeSource": ("pullPolicy reference"),
    "core.v1.KeyToPath": ("key mode path"),
    "core.v1.Lifecycle": ("postStart=core.v1.LifecycleHandler preStop=core.v1.LifecycleHandler stopSignal"),
    "core.v1.LifecycleHandler": (
        "exec=core.v1.ExecAction httpGet=core.v1.HTTPGetAction sleep=core.v1.SleepAction "
        "tcpSocket=core.v1.TCPSocketAction"
    ),
    "core.v1.LocalObjectReference": ("name"),
    "core.v1.ModifyVolumeStatus": ("status targetVolumeAttributesClassName"),
    "core.v1.NFSVolumeSource": ("path readOnly server"),
    "core.v1.NodeAffinity": (
        "preferredDuringSchedulingIgnoredDuringExecution=core.v1.PreferredSchedulingTerm "
        "requiredDuringSchedulingIgnoredDuringExecution=core.v1.NodeSelector"
    ),
    "core.v1.NodeSelector": ("nodeSelectorTerms=core.v1.NodeSelectorTerm"),
    "core.v1.NodeSelectorRequirement": ("key operator values"),
    "core.v1.NodeSelectorTerm": (
        "matchExpressions=core.v1.NodeSelectorRequirement matchFields=core.v1.NodeSelectorRequirement"
    ),
    "core.v1.ObjectFieldSelector": ("apiVersion fieldPath"),
    "core.v1.PersistentVolumeClaim": (
        "apiVersion kind metadata=meta.v1.ObjectMeta spec=core.v1.PersistentVolumeClaimSpec "
        "status=core.v1.PersistentVolumeClaimStatus"
    ),
    "core.v1.PersistentVolumeClaimCondition": ("lastProbeTime lastTransitionTime message reason status type"),
    "core.v1.PersistentVolumeClaimSpec": (
        "accessModes dataSource=core.v1.TypedLocalObjectReference "
        "dataSourceRef=core.v1.TypedObjectReference resources=core.v1.VolumeResourceRequirements "
        "selector=meta.v1.LabelSelector storageClassName volumeAttributesClassName volumeMode volumeName"
    ),
    "core.v1.PersistentVolumeClaimStatus": (
        "accessModes allocatedResourceStatuses allocatedResources capacity "
        "conditions=core.v1.PersistentVolumeClaimCondition currentVolumeAttributesClassName "
        "modifyVolumeStatus=core.v1.ModifyVolumeStatus phase"
    ),
    "core.v1.PersistentVolumeClaimTemplate": ("metadata=meta.v1.ObjectMeta spec=core.v1.PersistentVolumeClaimSpec"),
    "core.v1.PersistentVolumeClaimVolumeSource": ("claimName readOnly"),
    "core.v1.PhotonPersistentDiskVolumeSource": ("fsType pdID"),
    "core.v1.PodAffinity": (
        "preferredDuringSchedulingIgnoredDuringExecution=core.v1.WeightedPodAffinityTerm "
        "requiredDuringSchedulingIgnoredDuringExecution=core.v1.PodAffinityTerm"
    ),
    "core.v1.PodAffinityTerm": (
        "labelSelector=meta.v1.LabelSelector matchLabelKeys mismatchLabelKeys "
        "namespaceSelector=meta.v1.LabelSelector namespaces topologyKey"
    ),
    "core.v1.PodAntiAffinity": (
        "preferredDuringSchedulingIgnoredDuringExecution=core.v1.WeightedPodAffinityTerm "
        "requiredDuringSchedulingIgnoredDuringExecution=core.v1.PodAffinityTerm"
    ),
    "core.v1.PodCertificateProjection": (
        "certificateChainPath credentialBundlePath keyPath keyType maxExpirationSeconds signerName userAnnotations"
    ),
    "core.v1.PodDNSConfig": ("nameservers options=core.v1.PodDNSConfigOption searches"),
    "core.v1.PodDNSConfigOption": ("name value"),
    "core.v1.PodOS": ("name"),
    "core.v1.PodReadinessGate": ("conditionType"),
    "core.v1.PodResourceClaim": ("name resourceClaimName resourceClaimTemplateName"),
    "core.v1.PodSchedulingGate": ("name"),
    "core.v1.PodSchedulingGroup": ("podGroupName"),
    "core.v1.PodSecurityContext": (
        "appArmorProfile=core.v1.AppArmorProfile fsGroup fsGroupChangePolicy runAsGroup runAsNonRoot "
        "runAsUser seLinuxChangePolicy seLinuxOptions=core.v1.SELinuxOptions "
        "seccompProfile=core.v1.SeccompProfile supplementalGroups supplementalGroupsPolicy "
        "sysctls=core.v1.Sysctl windowsOptions=core.v1.WindowsSecurityContextOptions"
    ),
    "core.v1.PodSpec": (
        "activeDeadlineSeconds affinity=core.v1.Affinity automountServiceAccountToken "
        "containers=core.v1.Container dnsConfig=core.v1.PodDNSConfig dnsPolicy enableServiceLinks "
        "ephemeralContainers=core.v1.EphemeralContainer hostAliases=core.v1.HostAlias hostIPC hostNetwork "
        "hostPID hostUsers hostname hostnameOverride imagePullSecrets=core.v1.LocalObjectReference "
        "initContainers=core.v1.Container nodeName nodeSelector os=core.v1.PodOS overhead "
        "preemptionPolicy priority priorityClassName readinessGates=core.v1.PodReadinessGate "
        "resourceClaims=core.v1.PodResourceClaim resources=core.v1.ResourceRequirements restartPolicy "
        "runtimeClassName schedulerName schedulingGates=core.v1.PodSchedulingGate "
        "schedulingGroup=core.v1.PodSchedulingGroup securityContext=core.v1.PodSecurityContext "
        "serviceAccount serviceAccountName setHostnameAsFQDN shareProcessNamespace subdomain "
        "terminationGracePeriodSeconds tolerations=core.v1.Toleration "
        "topologySpreadConstraints=core.v1.TopologySpreadConstraint volumes=core.v1.Volume"
    ),
    "core.v1.PodTemplateSpec": ("metadata=meta.v1.ObjectMeta spec=core.v1.PodSpec"),
    "core.v1.PortworxVolumeSource": ("fsType readOnly volumeID"),
    "core.v1.PreferredSchedulingTerm": ("preference=core.v1.NodeSelectorTerm weight"),
    "core.v1.Probe": (
        "exec=core.v1.ExecAction failureThreshold grpc=core.v1.GRPCAction httpGet=core.v1.HTTPGetAction "
        "initialDelaySeconds periodSeconds successThreshold tcpSocket=core.v1.TCPSocketAction "
        "terminationGracePeriodSeconds timeoutSeconds"
    ),
    "core.v1.ProjectedVolumeSource": ("defaultMode sources=core.v1.VolumeProjection"),
    "core.v1.QuobyteVolumeSource": ("group readOnly registry tenant user volume"),
    "core.v1.RBDVolumeSource": (
        "fsType image keyring monitors pool readOnly secretRef=core.v1.LocalObjectReference user"
    ),
    "core.v1.ResourceClaim": ("name request"),
    "core.v1.ResourceFieldSelector": ("containerName divisor resource"),
    "core.v1.ResourceRequirements": ("claims=core.v1.ResourceClaim limits requests"),
    "core.v1.SELinuxOptions": ("level role type user"),
    "core.v1.ScaleIOVolumeSource": (
        "fsType gateway protectionDomain readOnly secretRef=core.v1.LocalObjectReference sslEnabled "
        "storageMode storagePool system volumeName"
    ),
    "core.v1.SeccompProfile": ("localhostProfile type"),
    "core.v1.SecretEnvSource": ("name optional"),
    "core.v1.SecretKeySelector": ("key name optional"),
    "core.v1.SecretProjection": ("items=core.v1.KeyToPath name optional"),
    "core.v1.SecretVolumeSource": ("defaultMode items=core.v1.KeyToPath optional secretName"),
    "core.v1.SecurityContext": (
        "allowPrivilegeEscalation appArmorProfile=core.v1.AppArmorProfile "
        "capabilities=core.v1.Capabilities privileged procMount readOnlyRootFilesystem runAsGroup "
        "runAsNonRoot runAsUser seLinuxOptions=core.v1.SELinuxOptions "
        "seccompProfile=core.v1.SeccompProfile windowsOptions=core.v1.WindowsSecurityContextOptions"
    ),
    "core.v1.ServiceAccountTokenProjection": ("audience expirationSeconds path"),
    "core.v1.ServicePort": ("appProtocol name nodePort port protocol targetPort"),
    "core.v1.ServiceSpec": (
        "allocateLoadBalancerNodePorts clusterIP clusterIPs externalIPs externalName "
        "externalTrafficPolicy healthCheckNodePort internalTrafficPolicy ipFamilies ipFamilyPolicy "
        "loadBalancerClass loadBalancerIP loadBalancerSourceRanges ports=core.v1.ServicePort "
        "publishNotReadyAddresses selector sessionAffinity "
        "sessionAffinityConfig=core.v1.SessionAffinityConfig trafficDistribution type"
    ),
    "core.v1.SessionAffinityConfig": ("clientIP=core.v1.ClientIPConfig"),
    "core.v1.SleepAction": ("seconds"),
    "core.v1.StorageOSVolumeSource": (
        "fsType readOnly secretRef=core.v1.LocalObjectReference volumeName volumeNamespace"
    ),
    "core.v1.Sysctl": ("name value"),
    "core.v1.TCPSocketAction": ("host port"),
    "core.v1.Toleration": ("effect key operator tolerationSeconds value"),
    "core.v1.TopologySpreadConstraint": (
        "labelSelector=meta.v1.LabelSelector matchLabelKeys maxSkew minDomains nodeAffinityPolicy "
        "nodeTaintsPolicy topologyKey whenUnsatisfiable"
    ),
    "core.v1.TypedLocalObjectReference": ("apiGroup kind name"),
    "core.v1.TypedObjectReference": ("apiGroup kind name namespace"),
    "core.v1.Volume": (
        "awsElasticBlockStore=core.v1.AWSElasticBlockStoreVolumeSource "
        "azureDisk=core.v1.AzureDiskVolumeSource azureFile=core.v1.AzureFileVolumeSource "
        "cephfs=core.v1.CephFSVolumeSource cinder=core.v1.CinderVolumeSource "
        "configMap=core.v1.ConfigMapVolumeSource csi=core.v1.CSIVolumeSource "
        "downwardAPI=core.v1.DownwardAPIVolumeSource emptyDir=core.v1.EmptyDirVolumeSource "
        "ephemeral=core.v1.EphemeralVolumeSource fc=core.v1.FCVolumeSource "
        "flexVolume=core.v1.FlexVolumeSource flocker=core.v1.FlockerVolumeSource "
        "gcePersistentDisk=core.v1.GCEPersistentDiskVolumeSource gitRepo=core.v1.GitRepoVolumeSource "
        "glusterfs=core.v1.GlusterfsVolumeSource hostPath=core.v1.HostPathVolumeSource "
        "image=core.v1.ImageVolumeSource iscsi=core.v1.ISCSIVolumeSource name nfs=core.v1.NFSVolumeSource "
        "persistentVolumeClaim=core.v1.PersistentVolumeClaimVolumeSource "
        "photonPersistentDisk=core.v1.PhotonPersistentDiskVolumeSource "
        "portworxVolume=core.v1.PortworxVolumeSource projected=core.v1.ProjectedVolumeSource "
        "quobyte=core.v1.QuobyteVolumeSource rbd=core.v1.RBDVolumeSource "
        "scaleIO=core.v1.ScaleIOVolumeSource secret=core.v1.SecretVolumeSource "
        "storageos=core.v1.StorageOSVolumeSource vsphereVolume=core.v1.VsphereVirtualDiskVolumeSource"
    ),
    "core.v1.VolumeDevice": ("devicePath name"),
    "core.v1.VolumeMount": ("mountPath mountPropagation name readOnly recursiveReadOnly subPath subPathExpr"),
    "core.v1.VolumeProjection": (
        "clusterTrustBundle=core.v1.ClusterTrustBundleProjection configMap=core.v1.ConfigMapProjection "
        "downwardAPI=core.v1.DownwardAPIProjection podCertificate=core.v1.PodCertificateProjection "
        "secret=core.v1.SecretProjection serviceAccountToken=core.v1.ServiceAccountTokenProjection"
    ),
    "core.v1.VolumeResourceRequirements": ("limits requests"),
    "core.v1.VsphereVirtualDiskVolumeSource": ("fsType storagePolicyID storagePolicyName volumePath"),
    "core.v1.WeightedPodAffinityTerm": ("podAffinityTerm=core.v1.PodAffinityTerm weight"),
    "core.v1.WindowsSecurityContextOptions": ("gmsaCredentialSpec gmsaCredentialSpecName hostProcess runAsUserName"),
    "meta.v1.LabelSelector": ("matchExpressions=meta.v1.LabelSelectorRequirement matchLabels"),
    "meta.v1.LabelSelectorRequirement": ("key operator values"),
    "meta.v1.ManagedFieldsEntry": ("apiVersion fieldsType fieldsV1 manager operation subresource time"),
    "meta.v1.ObjectMeta": (
        "annotations creationTimestamp deletionGracePeriodSeconds deletionTimestamp finalizers "
        "generateName generation labels managedFields=meta.v1.ManagedFieldsEntry name namespace "
        "ownerReferences=meta.v1.OwnerReference resourceVersion selfLink uid"
    ),
    "meta.v1.OwnerReference": ("apiVersion blockOwnerDeletion controller kind name uid"),
    "networking.v1.HTTPIngressPath": ("backend=networking.v1.IngressBackend path pathType"),
    "networking.v1.HTTPIngressRuleValue": ("paths=networking.v1.HTTPIngressPath"),
    "networking.v1.IngressBackend": (
        "resource=core.v1.TypedLocalObjectReference service=networking.v1.IngressServiceBackend"
    ),
    "networking.v1.IngressRule": ("host http=networking.v1.HTTPIngressRuleValue"),
    "networking.v1.IngressServiceBackend": ("name port=networking.v1.ServiceBackendPort"),
    "networking.v1.IngressSpec": (
        "defaultBackend=networking.v1.IngressBackend ingressClassName rules=networking.v1.IngressRule "
        "tls=networking.v1.IngressTLS"
    ),
    "networking.v1.IngressTLS": ("hosts secretName"),
    "networking.v1.ServiceBackendPort": ("name number"),
}


def _fields(told: str) -> dict[str, str]:
    return {name: type_name for name, _, type_name in (word.partition("=") for word in told.split())}


KUBERNETES_FIELDS: Final[Mapping[str, Mapping[str, str]]] = {name: _fields(told) for name, told in _TYPES.items()}
"""The fields of each type, and the type of each field; empty where that has no fields."""
