"""Names that the schemas do not carry: struct names inside our CRDs, C++ keywords, and which structs get C++."""

_CONDITIONS = {"status.conditions[]": "meta.Condition"}
_GROUPS = {
    "spec.resourceGroups[]": "ResourceGroup",
    "spec.resourceGroups[].flavors[]": "FlavorQuotas",
    "spec.resourceGroups[].flavors[].resources[]": "ResourceQuota",
}
_FAIR_SHARING = {"spec.fairSharing": "FairSharing"}

# kind -> path -> struct
KUEUE = {
    "AdmissionCheck": {
        "spec": "AdmissionCheckSpec",
        "spec.parameters": "AdmissionCheckParametersReference",
        "status": "AdmissionCheckStatus",
        **_CONDITIONS,
    },
    "ClusterQueue": {
        "spec": "ClusterQueueSpec",
        "spec.admissionChecksStrategy": "AdmissionChecksStrategy",
        "spec.admissionChecksStrategy.admissionChecks[]": "AdmissionCheckStrategyRule",
        "spec.admissionScope": "AdmissionScope",
        "spec.concurrentAdmissionPolicy": "ConcurrentAdmissionPolicy",
        "spec.concurrentAdmissionPolicy.migration": "ConcurrentAdmissionMigration",
        "spec.concurrentAdmissionPolicy.migration.constraints": "ConcurrentAdmissionMigrationConstraints",
        "spec.flavorFungibility": "FlavorFungibility",
        "spec.namespaceSelector": "meta.LabelSelector",
        "spec.preemption": "ClusterQueuePreemption",
        "spec.preemption.borrowWithinCohort": "BorrowWithinCohort",
        "status": "ClusterQueueStatus",
        "status.fairSharing": "FairSharingStatus",
        "status.fairSharing.admissionFairSharingStatus": "AdmissionFairSharingStatus",
        "status.flavorsReservation[]": "FlavorUsage",
        "status.flavorsReservation[].resources[]": "ResourceUsage",
        "status.flavorsUsage[]": "FlavorUsage",
        "status.flavorsUsage[].resources[]": "ResourceUsage",
        "status.pendingWorkloadsStatus": "ClusterQueuePendingWorkloadsStatus",
        "status.pendingWorkloadsStatus.clusterQueuePendingWorkload[]": "ClusterQueuePendingWorkload",
        **_CONDITIONS, **_GROUPS, **_FAIR_SHARING,
    },
    "Cohort": {
        "spec": "CohortSpec",
        "status": "CohortStatus",
        "status.fairSharing": "FairSharingStatus",
        "status.fairSharing.admissionFairSharingStatus": "AdmissionFairSharingStatus",
        **_GROUPS, **_FAIR_SHARING,
    },
    "LocalQueue": {
        "spec": "LocalQueueSpec",
        "status": "LocalQueueStatus",
        "status.fairSharing": "LocalQueueFairSharingStatus",
        "status.fairSharing.admissionFairSharingStatus": "AdmissionFairSharingStatus",
        "status.flavorUsage[]": "LocalQueueFlavorUsage",
        "status.flavorUsage[].resources[]": "LocalQueueResourceUsage",
        "status.flavorsUsage[]": "LocalQueueFlavorUsage",
        "status.flavorsUsage[].resources[]": "LocalQueueResourceUsage",
        "status.flavorsReservation[]": "LocalQueueFlavorUsage",
        "status.flavorsReservation[].resources[]": "LocalQueueResourceUsage",
        "status.flavors[]": "LocalQueueFlavorStatus",
        "status.flavors[].nodeTaints[]": "core.Taint",
        "status.flavors[].topology": "TopologyInfo",
        **_CONDITIONS, **_FAIR_SHARING,
    },
    "MultiKueueCluster": {
        "spec": "MultiKueueClusterSpec",
        "spec.clusterSource": "ClusterSource",
        "spec.clusterSource.kubeConfig": "KubeConfig",
        "spec.clusterSource.clusterProfileRef": "ClusterProfileReference",
        "spec.kubeConfig": "KubeConfig",
        "spec.clusterProfileRef": "ClusterProfileReference",
        "status": "MultiKueueClusterStatus",
        **_CONDITIONS,
    },
    "MultiKueueConfig": {"spec": "MultiKueueConfigSpec"},
    "ProvisioningRequestConfig": {
        "spec": "ProvisioningRequestConfigSpec",
        "spec.podSetUpdates": "ProvisioningRequestPodSetUpdates",
        "spec.podSetUpdates.nodeSelector[]": "ProvisioningRequestPodSetUpdatesNodeSelector",
        "spec.retryStrategy": "ProvisioningRequestRetryStrategy",
    },
    "ResourceFlavor": {
        "spec": "ResourceFlavorSpec",
        "spec.nodeTaints[]": "core.Taint",
        "spec.tolerations[]": "core.Toleration",
    },
    "Topology": {"spec": "TopologySpec", "spec.levels[]": "TopologyLevel"},
    "WorkloadPriorityClass": {},
    "Workload": {
        "spec": "WorkloadSpec",
        "spec.podSets[]": "PodSet",
        "spec.podSets[].template": "core.PodTemplateSpec",
        "spec.podSets[].topologyRequest": "PodSetTopologyRequest",
        "spec.podSets[].topologyRequest.podsetSliceRequiredTopologyConstraints[]":
            "PodsetSliceRequiredTopologyConstraint",
        "spec.preemptionGates[]": "PreemptionGate",
        "spec.priorityClassRef": "PriorityClassRef",
        "status": "WorkloadStatus",
        "status.admission": "Admission",
        "status.admission.podSetAssignments[]": "PodSetAssignment",
        "status.admission.podSetAssignments[].topologyAssignment": "TopologyAssignment",
        "status.admission.podSetAssignments[].topologyAssignment.domains[]": "TopologyDomainAssignment",
        "status.admission.podSetAssignments[].topologyAssignment.slices[]": "TopologyAssignmentSlice",
        "status.admission.podSetAssignments[].topologyAssignment.slices[].podCounts":
            "TopologyAssignmentSlicePodCounts",
        "status.admission.podSetAssignments[].topologyAssignment.slices[].valuesPerLevel[]":
            "TopologyAssignmentSliceLevelValues",
        "status.admission.podSetAssignments[].topologyAssignment.slices[].valuesPerLevel[].individual":
            "TopologyAssignmentSliceLevelIndividualValues",
        "status.admissionChecks[]": "AdmissionCheckState",
        "status.admissionChecks[].podSetUpdates[]": "PodSetUpdate",
        "status.admissionChecks[].podSetUpdates[].tolerations[]": "core.Toleration",
        "status.preemptionGates[]": "PreemptionGateState",
        "status.reclaimablePods[]": "ReclaimablePod",
        "status.requeueState": "RequeueState",
        "status.resourceRequests[]": "PodSetRequest",
        "status.schedulingStats": "SchedulingStats",
        "status.schedulingStats.evictions[]": "WorkloadSchedulingStatsEviction",
        "status.unhealthyNodes[]": "UnhealthyNode",
        **_CONDITIONS,
    },
}
for _paths in KUEUE.values():
    _paths["@meta"] = "io.k8s.apimachinery.pkg.apis.meta.v1"
    _paths["@core"] = "io.k8s.api.core.v1"

# Built-in structs with a C++ side, with all that they hold.
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
CPP_ROOTS = [META + n for n in ("ObjectMeta", "ListMeta", "OwnerReference", "Condition", "LabelSelector",
                                "ManagedFieldsEntry", "Status", "DeleteOptions")] + [
    "io.k8s.api." + n for n in (
        "core.v1.Pod", "core.v1.PodTemplateSpec", "core.v1.Node", "core.v1.Namespace", "core.v1.LimitRange",
        "core.v1.Event", "batch.v1.Job", "node.v1.RuntimeClass", "scheduling.v1.PriorityClass",
        "coordination.v1.Lease", "events.v1.Event")]

# Tables that no served kind refers to.
EXTRA_TABLES = [META + n for n in ("Status", "DeleteOptions", "ListMeta", "Condition", "LabelSelector",
                                   "ManagedFieldsEntry", "OwnerReference")] + [
    "io.k8s.api.autoscaling.v1.Scale", "io.k8s.api.authentication.v1.TokenRequest", "io.k8s.api.policy.v1.Eviction",
    "io.k8s.api.core.v1.PodTemplateSpec"]

# Optional structs that Go keeps by value and everybody reads as plain members.
PLAIN_STRUCTS = {("core", "PodTemplateSpec"), ("batch", "JobTemplateSpec"), ("core", "PersistentVolumeClaimTemplate"),
                 ("visibility", "PendingWorkload")}

# Members that are Shared<T>: long, and equal in many objects.
SHARED_FIELDS = {("v1beta2", "PodSet", "template")}

KEYWORDS = {"namespace", "operator", "template", "default", "class", "export", "new", "delete", "register", "private",
            "public", "protected", "static", "switch", "union", "volatile", "explicit", "auto", "bool", "int", "long",
            "short", "signed", "unsigned", "float", "double", "char", "const", "continue", "break", "case", "catch",
            "do", "else", "enum", "extern", "for", "friend", "goto", "if", "inline", "mutable", "return", "sizeof",
            "struct", "this", "throw", "try", "typedef", "typename", "using", "virtual", "void", "while", "requires",
            "concept", "and", "or", "not", "xor", "asm"}

# Field selectors of built-in kinds beyond metadata.name and metadata.namespace.
_INVOLVED = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"]
SELECTABLE = {
    ("", "pods"): [".spec.nodeName", ".spec.restartPolicy", ".spec.schedulerName", ".spec.serviceAccountName",
                   ".spec.hostNetwork", ".status.phase", ".status.podIP", ".status.nominatedNodeName"],
    ("", "nodes"): [".spec.unschedulable"],
    ("", "namespaces"): [".status.phase"],
    ("", "secrets"): [".type"],
    ("", "events"): [".involvedObject." + x for x in _INVOLVED] + [".reason", ".reportingComponent", ".source", ".type"],
    ("events.k8s.io", "events"): [".regarding." + x for x in _INVOLVED] + [".reason", ".reportingController", ".type"],
    ("", "replicationcontrollers"): [".status.replicas"],
    ("apps", "replicasets"): [".status.replicas"],
    ("batch", "jobs"): [".status.successful"],
    ("certificates.k8s.io", "certificatesigningrequests"): [".spec.signerName"],
}
