// Tests extensions of a program: invalid ones are refused; valid ones are read, printed and checked
// like built-in ones.
#include "app/extensions.hpp"
#include "core/config/custom_key.hpp"
#include "core/config/load.hpp"
#include "core/config/own_data_set.hpp"
#include "core/config/own_key.hpp"
#include "core/config/own_values.hpp"
#include "core/config/schema.hpp"
#include "core/config/validate.hpp"
#include "data/adapter.hpp"
#include "nn/config_check.hpp"
#include "nn/models/families.hpp"
#include "nn/models/input.hpp"
#include "nn/models/shared_keys.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace troupe;
using app::Extensions;
using Catch::Matchers::ContainsSubstring;

namespace {

const CustomKey<std::int64_t> depth = {"depth", 3, {.min = 1, .max = 9}, "Layers"};
const CustomKey<std::string> depth_in_words = {"depth", "three", {}, "Layers"};
const CustomKey<bool> gated = {"gated", false, {}, "Whether there are gates"};
const CustomKey<double> leak = {"leak", 0.5, {.min = 0}, "What passes below 0"};
const CustomKey<std::vector<std::int64_t>> sizes = {"sizes", {1, 2}, {.min = 1}, "Of each layer"};
const CustomKey<std::int64_t> window = {"window", 8, {.min = 1}, "Values of a sample"};

TensorId features_of_tower(const nn::FeatureArguments& to) {
  to.builder.begin_unit("head");
  return to.builder.flatten("flatten", to.input);
}

/// Divides by `depth`: a depth of 0 would be a mistake of the test.
ConfigConflicts conflicts_of_tower(const ModelConfig& model, const nn::InputSpec&) {
  if (12 % custom_value(model, depth) == 0)
    return {};
  return {{{"model.depth"}, "12 does not divide"}};
}

nn::Family tower() {
  return {.names = {"tower"},
          .help = "layer on layer",
          .keys = [](ModelConfig& model) -> std::vector<nn::ModelKey> {
            return {{.key = custom_key(model, depth)},
                    {.key = custom_key(model, gated)},
                    {.key = custom_key(model, leak)},
                    {.key = custom_key(model, sizes)},
                    nn::bias_key(model)};
          },
          .conflicts = conflicts_of_tower,
          .add_features = features_of_tower};
}

/// A family that declares the tower's key depth again.
nn::Family spire() {
  return {.names = {"spire"},
          .keys = [](ModelConfig& model) -> std::vector<nn::ModelKey> {
            return {{.key = custom_key(model, depth)}};
          },
          .add_features = features_of_tower};
}

Result<data::AdapterPtr> open_nothing(const Config&, data::Split) {
  return failure({Errc::data, "there is nothing"});
}

CustomDataSet waves() {
  return {.traits = {.name = "waves", .sample = SampleKind::tensor, .files = false},
          .help = "sounds",
          .keys = [](DataConfig& data) { return std::vector{custom_key(data, window)}; },
          .sample =
              [](const DataConfig& data) {
                return Shape{custom_value(data, window), 2};
              },
          .open = open_nothing};
}

std::string refusal(const Extensions& extensions) {
  const auto catalogue = app::make_catalogue(extensions);
  if (catalogue)
    return {};
  CHECK(catalogue.error().exit_code() == 2);
  return catalogue.error().message;
}

const Catalogue& both() {
  static const auto catalogue =
      app::make_catalogue({.families = {tower(), spire()}, .data_sets = {waves()}}).value();
  return catalogue;
}

const std::string text = "model: {name: tower, depth: 4, sizes: [5], leak: 0.25}\n"
                         "data: {dataset: waves, window: 16}\n";

Config loaded(const std::string& yaml) {
  auto config = parse_config(yaml, "a.yaml", {}, Capabilities::all(), both());
  INFO((config ? "" : to_error(config.error()).message));
  REQUIRE(config);
  return *std::move(config);
}

std::string problem(const std::string& setting) {
  const auto config =
      parse_config(text, "a.yaml", std::vector{setting}, Capabilities::all(), both());
  return config ? "" : to_error(config.error()).message;
}

TEST_CASE("names of version 0.1 for custom models and data sets still compile") {
  static_assert(std::is_same_v<OwnDataSet, CustomDataSet>);
  static_assert(std::is_same_v<OwnRows<int>, CustomRows<int>>);
  ModelConfig model;
  const OwnKey<std::int64_t> key{"depth", 3, {}, "Layers"};
  CHECK(own_key(model, key).path == "model.depth");
  CHECK(own_value<std::int64_t>(model, key) == 3);
}

} // namespace

TEST_CASE("invalid extensions are refused by name") {
  CHECK(refusal({}).empty());
  CHECK(refusal({.families = {tower(), spire()}, .data_sets = {waves()}}).empty());

  auto family = tower();
  family.names = {"resnet20"};
  CHECK(refusal({.families = {family}}) == "two models have the name resnet20");
  CHECK_THAT(refusal({.families = {tower(), tower()}}), ContainsSubstring("tower"));
  family.names = {};
  CHECK_THAT(refusal({.families = {family}}), ContainsSubstring("no name"));
  family = tower();
  family.add_features = nullptr;
  CHECK_THAT(refusal({.families = {family}}), ContainsSubstring("tower has no add_features"));

  auto row = waves();
  row.traits.name = "csv";
  CHECK(refusal({.data_sets = {row}}) == "two data sets have the name csv");
  row = waves();
  row.open = nullptr;
  CHECK_THAT(refusal({.data_sets = {row}}), ContainsSubstring("waves has no open"));
  row = waves();
  row.sample = nullptr;
  CHECK_THAT(refusal({.data_sets = {row}}), ContainsSubstring("(sample)"));
}

TEST_CASE("two keys with the same name are refused, unless two models share the key") {
  auto family = spire();
  family.keys = [](ModelConfig& model) -> std::vector<nn::ModelKey> {
    return {{.key = custom_key(model, depth_in_words)}};
  };
  CHECK_THAT(refusal({.families = {tower(), family}}), ContainsSubstring("model.depth"));
  CHECK(refusal({.families = {family}}).empty());
  // Built-in keys: one of all models, and one of some.
  family.keys = [](ModelConfig& model) -> std::vector<nn::ModelKey> {
    return {{.key = custom_key(model, CustomKey<std::string>{"loss", "", {}, ""})}};
  };
  CHECK_THAT(refusal({.families = {family}}), ContainsSubstring("model.loss"));
  family.keys = [](ModelConfig& model) -> std::vector<nn::ModelKey> {
    return {{.key = custom_key(model, CustomKey<bool>{"bias", true, {}, ""})}};
  };
  CHECK_THAT(refusal({.families = {family}}), ContainsSubstring("model.bias"));
  auto row = waves();
  row.keys = [](DataConfig& data) {
    return std::vector{custom_key(data, CustomKey<std::string>{"root", "", {}, ""})};
  };
  CHECK_THAT(refusal({.data_sets = {row}}), ContainsSubstring("data.root"));
}

TEST_CASE("custom keys are read, printed and read again") {
  const auto config = loaded(text);
  CHECK(custom_value(config.model, depth) == 4);
  CHECK(custom_value(config.model, sizes) == std::vector<std::int64_t>{5});
  CHECK(custom_value(config.model, leak) == 0.25);
  CHECK_FALSE(custom_value(config.model, gated));
  CHECK(custom_value(config.data, window) == 16);
  const auto yaml = to_yaml(config, nn::catalogue_of(config));
  CHECK_THAT(yaml, ContainsSubstring("  sizes: [5]\n"));
  CHECK_THAT(yaml, ContainsSubstring("  window: 16\n"));
  const auto again = loaded(yaml);
  CHECK(again == config);
  CHECK_FALSE(loaded("model: {name: tower}\ndata: {dataset: waves}") == config);
  CHECK(custom_value(ModelConfig{}, depth) == 3); // the default, also in a config made in code
}

TEST_CASE("custom keys are checked like built-in keys") {
  CHECK(problem("model.depth=6").empty());
  CHECK_THAT(problem("model.dpeth=6"), ContainsSubstring("did you mean \"depth\"?"));
  CHECK_THAT(problem("model.depth=10"), ContainsSubstring("10 is out of range"));
  CHECK_THAT(problem("model.depth=deep"), ContainsSubstring("a whole number, 1 to 9"));
  CHECK_THAT(problem("model.depth=5"), ContainsSubstring("12 does not divide"));
  CHECK_THAT(problem("model.depth=0"), ContainsSubstring("0 is out of range"));
  CHECK_THAT(problem("model.name=linear"),
             ContainsSubstring("model.depth: linear does not take it; allowed: 3, or a model that "
                               "takes it: tower, spire"));
  CHECK_THAT(problem("model.name=spire"), ContainsSubstring("model.sizes: spire"));
  CHECK_THAT(problem("model.name=towre"), ContainsSubstring("did you mean \"tower\"?"));
  CHECK_THAT(problem("data.dataset=weaves"), ContainsSubstring("did you mean \"waves\"?"));
  CHECK_THAT(problem("data.dataset=synthetic"),
             ContainsSubstring("data.window: dataset synthetic does not have this key; allowed: 8, "
                               "or a data set that has it: waves"));
  CHECK_THAT(problem("data.augment=[flip]"), ContainsSubstring("cannot be augmented"));
}

TEST_CASE("custom models and data sets are in the schema and the reference") {
  const auto schema = config_json_schema(both());
  for (const auto* part : {"\"tower\"", "\"waves\"", "\"window\"", "Layers. For tower, spire"})
    CHECK_THAT(schema, ContainsSubstring(part));
  CHECK_THAT(config_markdown(both()), ContainsSubstring("tower: layer on layer"));
  CHECK_THAT(config_markdown(both()), ContainsSubstring("waves: sounds"));
  CHECK(config_json_schema(app::make_catalogue({}).value()) ==
        config_json_schema(nn::model_catalogue()));
}

TEST_CASE("a model's input has the shape that a custom data set declares") {
  auto config = loaded(text);
  CHECK(nn::input_spec(config).sample == Shape{16, 2});
  CHECK(nn::input_spec(config).target == "labels");
  config.model.loss = LossKind::mean_squared_error;
  CHECK(nn::input_spec(config).target == "targets");
}

TEST_CASE("the settings that a resumed run must keep include those of its custom model") {
  const auto settings = nn::custom_settings(loaded(text).model);
  CHECK(settings == std::map<std::string, std::string>{{"model.depth", "4"},
                                                       {"model.gated", "false"},
                                                       {"model.leak", "0.25"},
                                                       {"model.sizes", "[5]"}});
  CHECK(
      nn::custom_settings(loaded("model: {name: mlp}\ndata: {dataset: synthetic}").model).empty());
}
