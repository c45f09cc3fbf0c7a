// Custom resources, subresources of built-in kinds, discovery, reviews.
#include "contract.h"

namespace kueue::contract {
namespace {

using kube::PatchType;

class CustomResourceTest : public ContractTest {
 protected:
  static void SetUpTestSuite() {
    json::Value crd =
        doc(R"({'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition',
      'metadata':{'name':'widgets.contract.example.com'},
      'spec':{'group':'contract.example.com','scope':'Namespaced',
        'names':{'plural':'widgets','singular':'widget','kind':'Widget','listKind':'WidgetList','shortNames':['wd']},
        'versions':[{'name':'v1','served':true,'storage':true,
          'subresources':{'status':{},'scale':{'specReplicasPath':'.spec.size','statusReplicasPath':'.status.size'}},
          'schema':{'openAPIV3Schema':{'type':'object','properties':{
            'spec':{'type':'object','required':['color'],'properties':{
              'color':{'type':'string','enum':['red','blue']},
              'size':{'type':'integer','minimum':1,'maximum':9,'default':3},
              'fixed':{'type':'string','x-kubernetes-validations':[{'rule':'self == oldSelf','message':'fixed is immutable'}]},
              'parts':{'type':'array','x-kubernetes-list-type':'map','x-kubernetes-list-map-keys':['name'],
                'items':{'type':'object','required':['name'],'properties':{'name':{'type':'string'},'n':{'type':'integer'}}}},
              'free':{'type':'object','x-kubernetes-preserve-unknown-fields':true}},
              'x-kubernetes-validations':[{'rule':'!has(self.parts) || size(self.parts) <= self.size','message':'more parts than size'}]},
            'status':{'type':'object','properties':{'size':{'type':'integer'},'note':{'type':'string'}}}}}}}]}})");
    auto made = client().create(kCrds, "", crd);
    if (!made.ok()) {
      ASSERT_EQ(made.error().code, ErrorCode::kAlreadyExists) << text_of(made.error());
    }
    ASSERT_TRUE(eventually([&] { return client().list(kWidgets, "default").ok(); }));
  }

  json::Value widget(const std::string& name, std::string_view spec) {
    json::Value object = doc("{'apiVersion':'contract.example.com/v1','kind':'Widget'}");
    object.at_path({"metadata", "name"}) = name;
    object["spec"] = doc(spec);
    return object;
  }

  inline static const kube::Resource kWidgets{"contract.example.com", "v1", "widgets", "Widget",
                                              true};
};

TEST_F(CustomResourceTest, DefaultsPruningAndGeneration) {
  json::Value made =
      make(kWidgets, widget("a", "{'color':'red','nonsense':1,'free':{'x':[1,{'y':2}]}}"));
  EXPECT_EQ(made.get_int({"spec", "size"}), 3);
  EXPECT_EQ(made.find_path({"spec", "nonsense"}), nullptr);
  EXPECT_EQ(json::write(*made.find_path({"spec", "free"})), R"({"x":[1,{"y":2}]})");
  EXPECT_EQ(made.get_int({"metadata", "generation"}), 1);
  auto changed =
      client().patch(kWidgets, {ns_, "a"}, PatchType::kMerge, doc("{'spec':{'size':4}}"));
  ASSERT_OK(changed);
  EXPECT_EQ(changed->get_int({"metadata", "generation"}), 2);
  auto labelled = client().patch(kWidgets, {ns_, "a"}, PatchType::kMerge,
                                 doc("{'metadata':{'labels':{'a':'b'}}}"));
  ASSERT_OK(labelled);
  EXPECT_EQ(labelled->get_int({"metadata", "generation"}), 2);
  EXPECT_REFUSED(client().create(kWidgets, ns_, widget("b", "{'color':'red','nonsense':1}"),
                                 {.field_validation = "Strict"}),
                 ErrorCode::kBadRequest, "strict decoding error: unknown field \"spec.nonsense\"");
  EXPECT_REFUSED(
      client().patch(kWidgets, {ns_, "a"}, PatchType::kStrategic, doc("{'spec':{'size':4}}")),
      ErrorCode::kUnsupportedMedia,
      "the body of the request was in an unknown format - accepted media types include");
}

TEST_F(ContractTest, UnknownPatchTypes) {
  auto sent = [&](std::string_view type) {
    wire::Request request;
    request.method = "PATCH";
    request.path = "/api/v1/namespaces/" + ns_;
    request.headers.set("Content-Type", std::string(type));
    request.body = "{}";
    return client().transport().round_trip(request, Duration::seconds(30)).value();
  };
  for (const char* type : {"application/json", "text/plain"}) {
    wire::Response response = sent(type);
    EXPECT_EQ(response.status, 415) << type;
    EXPECT_EQ(json::parse(response.body)->get_string({"message"}), "415: Unsupported Media Type");
  }
  EXPECT_EQ(sent("application/merge-patch+json").status, 200);
}

TEST_F(CustomResourceTest, Validation) {
  struct Case {
    const char* spec;
    const char* want;
  };
  const Case cases[] = {
      {"{}", "spec.color: Required value"},
      {"{'color':'green'}",
       "spec.color: Unsupported value: \"green\": supported values: \"red\", \"blue\""},
      {"{'color':1}",
       "spec.color: Invalid value: \"integer\": spec.color in body must be of type string: "
       "\"integer\""},
      {"{'color':'red','size':10}",
       "spec.size: Invalid value: 10: spec.size in body should be less than or equal to 9"},
      {"{'color':'red','size':0}",
       "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1"},
      {"{'color':'red','parts':[{'name':'a'},{'name':'a'}]}",
       "spec.parts[1]: Duplicate value: {\"name\":\"a\"}"},
      {"{'color':'red','size':1,'parts':[{'name':'a'},{'name':'b'}]}", "more parts than size"},
  };
  for (const Case& c : cases) {
    auto refused = client().create(kWidgets, ns_, widget("a", c.spec));
    ASSERT_FALSE(refused.ok()) << c.spec;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalid) << c.spec;
    EXPECT_THAT(refused.error().message,
                testing::StartsWith("Widget.contract.example.com \"a\" is invalid: "));
    EXPECT_THAT(text_of(refused.error()), testing::HasSubstr(c.want));
  }
  make(kWidgets, widget("a", "{'color':'red','fixed':'x'}"));
  EXPECT_REFUSED(
      client().patch(kWidgets, {ns_, "a"}, PatchType::kMerge, doc("{'spec':{'fixed':'y'}}")),
      ErrorCode::kInvalid, "spec.fixed: Invalid value: \"y\": fixed is immutable");
}

TEST_F(CustomResourceTest, StatusAndScale) {
  json::Value object = widget("a", "{'color':'red','size':5}");
  object["status"] = doc("{'note':'ignored'}");
  json::Value made = make(kWidgets, object);
  EXPECT_EQ(made.find("status"), nullptr);
  auto status = client().patch(kWidgets, {ns_, "a"}, PatchType::kMerge,
                               doc("{'spec':{'size':9},'status':{'size':2,'x':1}}"),
                               {.subresource = "status"});
  ASSERT_OK(status);
  EXPECT_EQ(status->get_int({"spec", "size"}), 5);
  EXPECT_EQ(json::write(*status->find("status")), R"({"size":2})");
  auto scale = client().get(kWidgets, {ns_, "a"}, "scale");
  ASSERT_OK(scale);
  EXPECT_EQ(scale->get_string({"kind"}), "Scale");
  EXPECT_EQ(scale->get_string({"apiVersion"}), "autoscaling/v1");
  EXPECT_EQ(scale->get_int({"spec", "replicas"}), 5);
  EXPECT_EQ(scale->get_int({"status", "replicas"}), 2);
  auto scaled = client().patch(kWidgets, {ns_, "a"}, PatchType::kMerge,
                               doc("{'spec':{'replicas':7}}"), {.subresource = "scale"});
  ASSERT_OK(scaled);
  EXPECT_EQ(get(kWidgets, "a").get_int({"spec", "size"}), 7);
}

TEST_F(CustomResourceTest, ApplyMergesListsByKey) {
  auto apply = [&](std::string_view parts, const std::string& manager) {
    json::Value object = widget("a", "{'color':'red'}");
    object.at_path({"spec", "parts"}) = doc(parts);
    return client().patch(kWidgets, {ns_, "a"}, PatchType::kApply, object,
                          {.field_manager = manager});
  };
  ASSERT_OK(apply("[{'name':'x','n':1}]", "one"));
  auto both = apply("[{'name':'y','n':2}]", "two");
  ASSERT_OK(both);
  EXPECT_EQ(json::write_sorted(*both->find_path({"spec", "parts"})),
            R"([{"n":1,"name":"x"},{"n":2,"name":"y"}])");
  EXPECT_REFUSED(apply("[{'name':'x','n':5}]", "two"), ErrorCode::kConflict,
                 ".spec.parts[name=\"x\"].n");
}

TEST_F(CustomResourceTest, Discovery) {
  auto group = client().raw("GET", "/apis/contract.example.com/v1");
  ASSERT_OK(group);
  std::string found;
  for (const json::Value& resource : group->find("resources")->as_array()) {
    found += std::string(resource.get_string({"name"})) + ":" +
             std::string(resource.get_string({"kind"})) + " ";
  }
  EXPECT_THAT(found, testing::HasSubstr("widgets:Widget"));
  EXPECT_THAT(found, testing::HasSubstr("widgets/status:Widget"));
  EXPECT_THAT(found, testing::HasSubstr("widgets/scale:Scale"));
}

TEST_F(ContractTest, DiscoveryOfBuiltInKinds) {
  auto version = client().raw("GET", "/version");
  ASSERT_OK(version);
  EXPECT_EQ(version->get_string({"major"}), "1");
  EXPECT_THAT(std::string(version->get_string({"gitVersion"})), testing::StartsWith("v1.36"));
  auto core = client().raw("GET", "/api/v1");
  ASSERT_OK(core);
  const json::Value* pods = nullptr;
  for (const json::Value& resource : core->find("resources")->as_array()) {
    if (resource.get_string({"name"}) == "pods") pods = &resource;
  }
  ASSERT_NE(pods, nullptr);
  EXPECT_EQ(pods->get_string({"singularName"}), "pod");
  EXPECT_TRUE(pods->get_bool({"namespaced"}));
  EXPECT_EQ(json::write(*pods->find("shortNames")), R"(["po"])");
  EXPECT_EQ(json::write(*pods->find("categories")), R"(["all"])");
  auto groups = client().raw("GET", "/apis");
  ASSERT_OK(groups);
  EXPECT_EQ(groups->get_string({"kind"}), "APIGroupList");
  auto unknown = client().raw("GET", "/apis/nonsense.example.com/v1");
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
}

TEST_F(ContractTest, BindingAndEviction) {
  json::Value object = pod("a");
  object.at_path({"spec", "schedulerName"}) = "nobody";
  object.erase_path({"spec", "schedulingGates"});
  make(kPods, object);
  json::Value binding =
      doc("{'apiVersion':'v1','kind':'Binding','metadata':{'name':'a'},'target':{'kind':'Node','"
          "name':'contract-n'}}");
  ASSERT_OK(client().create(kPods, ns_, binding, {.subresource = "binding"}));
  json::Value bound = get(kPods, "a");
  EXPECT_EQ(bound.get_string({"spec", "nodeName"}), "contract-n");
  EXPECT_REFUSED(client().create(kPods, ns_, binding, {.subresource = "binding"}),
                 ErrorCode::kConflict, "pod a is already assigned to node \"contract-n\"");
  json::Value eviction =
      doc("{'apiVersion':'policy/v1','kind':'Eviction','metadata':{'name':'a'}}");
  ASSERT_OK(client().create(kPods, ns_, eviction, {.subresource = "eviction"}));
  EXPECT_FALSE(get(kPods, "a").get_string({"metadata", "deletionTimestamp"}).empty());
  ASSERT_OK(client().remove(kPods, {ns_, "a"}, {.grace_seconds = 0}));
}

TEST_F(ContractTest, GatedPodsCannotBeBound) {
  make(kPods, pod("a"));
  json::Value binding =
      doc("{'apiVersion':'v1','kind':'Binding','metadata':{'name':'a'},'target':{'kind':'Node','"
          "name':'n'}}");
  EXPECT_REFUSED(client().create(kPods, ns_, binding, {.subresource = "binding"}),
                 ErrorCode::kConflict, "pod a has non-empty .spec.schedulingGates");
  EXPECT_REFUSED(client().patch(kPods, {ns_, "a"}, PatchType::kMerge,
                                doc("{'spec':{'schedulingGates':[{'name':'a/b'}]}}")),
                 ErrorCode::kInvalid, "spec.schedulingGates");
  auto freed = client().patch(kPods, {ns_, "a"}, PatchType::kMerge,
                              doc("{'spec':{'schedulingGates':[],'nodeSelector':{'a':'b'}}}"));
  ASSERT_OK(freed);
  EXPECT_REFUSED(
      client().patch(kPods, {ns_, "a"}, PatchType::kMerge, doc("{'spec':{'priority':5}}")),
      ErrorCode::kInvalid, "Forbidden: pod updates may not change fields other than");
}

TEST_F(ContractTest, ScaleOfDeployments) {
  json::Value object = doc(
      "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'d'},'spec':{'replicas':0,"
      "'selector':{'matchLabels':{'a':'b'}},'template':{'metadata':{'labels':{'a':'b'}},'spec':"
      "{'containers':[{'name':'c','image':'i'}]}}}}");
  make(kDeployments, object);
  auto scale = client().get(kDeployments, {ns_, "d"}, "scale");
  ASSERT_OK(scale);
  EXPECT_EQ(scale->get_int({"spec", "replicas"}), 0);
  EXPECT_EQ(scale->get_string({"status", "selector"}), "a=b");
  EXPECT_REFUSED(client().patch(kDeployments, {ns_, "d"}, PatchType::kMerge,
                                doc("{'spec':{'selector':{'matchLabels':{'a':'c'}}}}")),
                 ErrorCode::kInvalid, "selector");
}

TEST_F(ContractTest, Reviews) {
  auto review = client().create(
      {"authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", false},
      "",
      doc("{'apiVersion':'authorization.k8s.io/v1','kind':'SelfSubjectAccessReview','spec':"
          "{'resourceAttributes':{'verb':'create','resource':'pods','namespace':'default'}}}"));
  ASSERT_OK(review);
  EXPECT_TRUE(review->get_bool({"status", "allowed"}));
  auto self = client().create(
      {"authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", false}, "",
      doc("{'apiVersion':'authentication.k8s.io/v1','kind':'SelfSubjectReview'}"));
  ASSERT_OK(self);
  EXPECT_FALSE(self->get_string({"status", "userInfo", "username"}).empty());
  auto token =
      client().create({"authentication.k8s.io", "v1", "tokenreviews", "TokenReview", false}, "",
                      doc("{'apiVersion':'authentication.k8s.io/"
                          "v1','kind':'TokenReview','spec':{'token':'nonsense'}}"));
  ASSERT_OK(token);
  EXPECT_FALSE(token->get_bool({"status", "authenticated"}));
}

TEST_F(ContractTest, PriorityClassesReachPods) {
  const kube::Resource classes{"scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass",
                               false};
  auto made =
      client().create(classes, "",
                      doc("{'apiVersion':'scheduling.k8s.io/v1','kind':'PriorityClass','metadata':"
                          "{'name':'contract-high'},'value':1000}"));
  if (!made.ok()) EXPECT_EQ(made.error().code, ErrorCode::kAlreadyExists);
  json::Value object = pod("a");
  object.at_path({"spec", "priorityClassName"}) = "contract-high";
  json::Value created;
  ASSERT_TRUE(eventually([&] {
    auto result = client().create(kPods, ns_, object);
    if (result.ok()) created = *result;
    return result.ok();
  }));
  EXPECT_EQ(created.get_int({"spec", "priority"}), 1000);
  EXPECT_EQ(created.get_string({"spec", "preemptionPolicy"}), "PreemptLowerPriority");
  json::Value unknown = pod("b");
  unknown.at_path({"spec", "priorityClassName"}) = "contract-none";
  EXPECT_REFUSED(client().create(kPods, ns_, unknown), ErrorCode::kForbidden,
                 "pods \"b\" is forbidden: no PriorityClass with name contract-none was found");
}

TEST_F(ContractTest, LargeAndDeepBodies) {
  json::Value big = config_map("big");
  big.at_path({"data", "k"}) = std::string(2u << 20, 'x');
  auto refused = client().create(kConfigMaps, ns_, big);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message,
              testing::AnyOf(testing::HasSubstr("Too long"), testing::HasSubstr("too large")));
  json::Value huge = config_map("huge");
  huge.at_path({"data", "k"}) = std::string(4u << 20, 'x');
  EXPECT_REFUSED(client().create(kConfigMaps, ns_, huge), ErrorCode::kTooLarge,
                 "Request entity too large: limit is 3145728");
}

}  // namespace
}  // namespace kueue::contract
