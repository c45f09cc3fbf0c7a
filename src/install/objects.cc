// The objects that are the same for everybody but for namespace and image, as YAML.
#include "install/objects.h"

#include <string>

#include "base/check.h"
#include "json/json.h"
#include "webhooks/hook.h"

namespace kueue::install {
namespace {

using json::Value;

std::vector<Value> from_yaml(std::string_view text) {
  auto parsed = json::parse_yaml_all(text);
  KUEUE_CHECK(parsed.ok(), "manifests are YAML");
  for (Value& object : *parsed) {
    Value labels = common_labels();
    if (const Value* own = object.find_path({"metadata", "labels"}))
      for (const auto& [key, value] : own->as_object()) labels[key] = value;
    object["metadata"]["labels"] = std::move(labels);
  }
  return *std::move(parsed);
}

constexpr std::string_view kNamespace = R"(
apiVersion: v1
kind: Namespace
metadata:
  name: ${NAMESPACE}
  labels:
    control-plane: controller-manager
)";

// The Secret is there so that rights on it can be given by its name; the manager fills it.
constexpr std::string_view kSecret = R"(
apiVersion: v1
kind: Secret
metadata:
  name: kueue-webhook-server-cert
  namespace: ${NAMESPACE}
type: Opaque
)";

constexpr std::string_view kConfiguration = R"(apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
health:
  healthProbeBindAddress: :8081
metrics:
  bindAddress: :8443
webhook:
  port: 9443
leaderElection:
  leaderElect: true
  resourceName: c1f6bfd2.kueue.x-k8s.io
controller:
  groupKindConcurrency:
    Job.batch: 5
    Pod: 5
    Workload.kueue.x-k8s.io: 5
    LocalQueue.kueue.x-k8s.io: 1
    ClusterQueue.kueue.x-k8s.io: 1
    ResourceFlavor.kueue.x-k8s.io: 1
integrations:
  frameworks:
)";

constexpr std::string_view kServices = R"(
apiVersion: v1
kind: Service
metadata:
  name: kueue-webhook-service
  namespace: ${NAMESPACE}
spec:
  ports:
  - name: https
    port: 443
    protocol: TCP
    targetPort: 9443
  selector:
    control-plane: controller-manager
---
apiVersion: v1
kind: Service
metadata:
  name: kueue-controller-manager-metrics-service
  namespace: ${NAMESPACE}
  labels:
    control-plane: controller-manager
spec:
  ports:
  - name: https
    port: 8443
    protocol: TCP
    targetPort: 8443
  selector:
    control-plane: controller-manager
---
apiVersion: v1
kind: Service
metadata:
  name: kueue-visibility-server
  namespace: ${NAMESPACE}
spec:
  ports:
  - name: https
    port: 443
    protocol: TCP
    targetPort: 8082
  selector:
    control-plane: controller-manager
)";

// A replica holds everything in memory and keeps no file; it needs no disk but for nothing.
constexpr std::string_view kDeployment = R"(
apiVersion: apps/v1
kind: Deployment
metadata:
  name: kueue-controller-manager
  namespace: ${NAMESPACE}
  labels:
    control-plane: controller-manager
spec:
  replicas: 1
  selector:
    matchLabels:
      control-plane: controller-manager
  template:
    metadata:
      annotations:
        kubectl.kubernetes.io/default-container: manager
      labels:
        app.kubernetes.io/component: controller
        app.kubernetes.io/name: kueue
        control-plane: controller-manager
    spec:
      serviceAccountName: kueue-controller-manager
      terminationGracePeriodSeconds: 10
      securityContext:
        runAsNonRoot: true
        seccompProfile:
          type: RuntimeDefault
      containers:
      - name: manager
        image: ${IMAGE}
        imagePullPolicy: IfNotPresent
        args:
        - manager
        - --config=/controller_manager_config.yaml
        - --zap-log-level=2
        ports:
        - name: webhook-server
          containerPort: 9443
          protocol: TCP
        - name: metrics
          containerPort: 8443
          protocol: TCP
        - name: visibility
          containerPort: 8082
          protocol: TCP
        - name: health
          containerPort: 8081
          protocol: TCP
        livenessProbe:
          httpGet:
            path: /healthz
            port: 8081
          initialDelaySeconds: 15
          periodSeconds: 20
        readinessProbe:
          httpGet:
            path: /readyz
            port: 8081
          initialDelaySeconds: 1
          periodSeconds: 5
        resources:
          limits:
            cpu: "2"
            memory: 512Mi
          requests:
            cpu: 100m
            memory: 128Mi
        securityContext:
          allowPrivilegeEscalation: false
          readOnlyRootFilesystem: true
          capabilities:
            drop:
            - ALL
        volumeMounts:
        - name: manager-config
          mountPath: /controller_manager_config.yaml
          subPath: controller_manager_config.yaml
      volumes:
      - name: manager-config
        configMap:
          name: kueue-manager-config
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: kueue-controller-manager
  namespace: ${NAMESPACE}
spec:
  # One replica may be drained, too: jobs go on running without a manager.
  maxUnavailable: 1
  selector:
    matchLabels:
      control-plane: controller-manager
)";

constexpr std::string_view kVisibility = R"(
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata:
  name: v1beta1.visibility.kueue.x-k8s.io
spec:
  group: visibility.kueue.x-k8s.io
  version: v1beta1
  groupPriorityMinimum: 100
  versionPriority: 100
  service:
    name: kueue-visibility-server
    namespace: ${NAMESPACE}
    port: 443
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata:
  name: v1beta2.visibility.kueue.x-k8s.io
spec:
  group: visibility.kueue.x-k8s.io
  version: v1beta2
  groupPriorityMinimum: 100
  versionPriority: 200
  service:
    name: kueue-visibility-server
    namespace: ${NAMESPACE}
    port: 443
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: kueue-visibility-server-auth-reader
  namespace: kube-system
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: extension-apiserver-authentication-reader
subjects:
- kind: ServiceAccount
  name: kueue-controller-manager
  namespace: ${NAMESPACE}
)";

constexpr std::string_view kFlowControl = R"(
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata:
  name: kueue-visibility
spec:
  type: Limited
  limited:
    nominalConcurrencyShares: 10
    lendablePercent: 0
    limitResponse:
      type: Queue
      queuing:
        handSize: 4
        queueLengthLimit: 50
        queues: 64
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata:
  name: kueue-visibility
spec:
  distinguisherMethod:
    type: ByUser
  matchingPrecedence: 9000
  priorityLevelConfiguration:
    name: kueue-visibility
  rules:
  - resourceRules:
    - apiGroups:
      - visibility.kueue.x-k8s.io
      clusterScope: true
      namespaces:
      - '*'
      resources:
      - '*'
      verbs:
      - '*'
    subjects:
    - kind: Group
      group:
        name: system:authenticated
    - kind: Group
      group:
        name: system:unauthenticated
)";

}  // namespace

Value common_labels() {
  return Value::object(
      {{"app.kubernetes.io/component", "controller"}, {"app.kubernetes.io/name", "kueue"}});
}

std::vector<Value> namespace_objects() { return from_yaml(kNamespace); }
std::vector<Value> service_objects() { return from_yaml(kServices); }
std::vector<Value> deployment_objects() { return from_yaml(kDeployment); }
std::vector<Value> flow_control_objects() { return from_yaml(kFlowControl); }
std::vector<Value> visibility_objects() { return from_yaml(kVisibility); }

std::vector<Value> config_objects() {
  std::vector<Value> out = from_yaml(kSecret);
  std::string configuration(kConfiguration);
  for (const webhooks::HookInfo& hook : webhooks::all_hooks())
    if (!hook.framework.empty()) configuration += "  - " + std::string(hook.framework) + "\n";
  out.push_back(Value::object(
      {{"apiVersion", "v1"},
       {"kind", "ConfigMap"},
       {"metadata", Value::object({{"name", "kueue-manager-config"},
                                   {"namespace", "${NAMESPACE}"},
                                   {"labels", common_labels()}})},
       {"data", Value::object({{"controller_manager_config.yaml", configuration}})}}));
  return out;
}

}  // namespace kueue::install
