#include "core/config/config.hpp"
#include "core/config/load.hpp"
#include "inference/find_weights.hpp"
#include "nn/config_check.hpp"
#include "tests/support/scratch_folder.hpp"
#include "training/model_card.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <nlohmann/json.hpp>

using namespace troupe;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

Config small() {
  Config config;
  config.model.name = "resnet20";
  config.data.dataset = "synthetic";
  config.data.image_size = 16;
  return config;
}

} // namespace

TEST_CASE("a card contains the config, the readable normalization and the image size") {
  const auto config = small();
  const auto adapter = data::open_adapter(config, data::Split::train);
  REQUIRE(adapter);
  const auto metadata = training::describe_model(config, **adapter);
  CHECK(metadata.at("image_size") == "16");
  CHECK(metadata.at("normalization") == R"({"mean":[0.5,0.5,0.5],"std":[0.25,0.25,0.25]})");
  const auto card = training::read_card(metadata);
  REQUIRE(card.config);
  const auto again =
      parse_config(*card.config, "card", {}, Capabilities::all(), nn::model_catalogue());
  REQUIRE(again);
  CHECK(*again == config);
  CHECK(card.input->deviation == std::vector{0.25, 0.25, 0.25});
}

TEST_CASE("a card is read back as it was written, with names in any script") {
  const training::ModelCard card{.class_names = {"cat, or \"dog\"", "Zürich", ""},
                                 .input = training::InputNormalization{{1.5, -2}, {0.25, 1e-3}}};
  const auto again = training::read_card(training::to_metadata(small(), card));
  CHECK(again.class_names == card.class_names);
  CHECK(again.input->mean == card.input->mean);
  CHECK(again.input->deviation == card.input->deviation);
}

TEST_CASE("metadata of other programs is handled without an error") {
  for (const auto* const text :
       {"", "{", "[]", "7", R"({"mean":[1]})", R"({"mean":[1],"std":[0]})",
        R"({"mean":[1,2],"std":[1]})", R"({"mean":["a"],"std":[1]})", R"({"mean":1,"std":1})"})
    CHECK_FALSE(training::read_card({{"normalization", text}}).input);
  CHECK(training::read_card({{"class_names", "not JSON"}}).class_names.empty());
  CHECK(training::read_card({{"class_names", R"({"a":1})"}}).class_names.empty());
  CHECK(training::read_card({{"class_names", R"(["a",2])"}}).class_names ==
        std::vector<std::string>{"a", "2"});
  CHECK_FALSE(training::read_card({}).config);
}

TEST_CASE("a run's folder stands for its best checkpoint, or else the newest") {
  const ScratchFolder folder;
  const auto run = folder / "run";
  CHECK_THAT(inference::find_weights(run).error().message, ContainsSubstring("runs/NAME"));
  std::filesystem::create_directories(run);
  write_bytes(run / "config.yaml", "{}");
  CHECK_THAT(inference::find_weights(run).error().message, ContainsSubstring("no checkpoints yet"));
  const auto checkpoints = run / "checkpoints";
  std::filesystem::create_directories(checkpoints);
  CHECK_THAT(inference::find_weights(run).error().message,
             ContainsSubstring("this folder contains no checkpoint"));
  for (const auto* const name : {"step-000000002.safetensors", "step-000000010.safetensors"})
    write_bytes(checkpoints / name, "");
  const auto newest = inference::find_weights(run);
  REQUIRE(newest);
  CHECK(newest->weights.filename() == "step-000000010.safetensors");
  CHECK(newest->config == run / "config.yaml");
  write_bytes(checkpoints / "best", "");
  CHECK(inference::find_weights(run)->weights.filename() == "best");
  const auto named = inference::find_weights(checkpoints / "step-000000002.safetensors");
  REQUIRE(named);
  CHECK(named->weights.filename() == "step-000000002.safetensors");
  CHECK(named->config == run / "config.yaml");
  write_bytes(folder / "alone.safetensors", "");
  CHECK_FALSE(inference::find_weights(folder / "alone.safetensors")->config);
}
