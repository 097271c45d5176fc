#include "core/checkpoint/safetensors.hpp"
#include "core/config/config.hpp"
#include "nn/models/models.hpp"
#include "tests/support/checkpoint_files.hpp"
#include "tests/support/initial_values.hpp"
#include "tests/support/scratch_folder.hpp"
#include "training/initial_state.hpp"
#include "training/pretrained/pretrained.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <deque>

using namespace troupe;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

/// A file in PyTorch's format for a model's state_dict, and a config that names it.
class SavedModel {
public:
  explicit SavedModel(const std::string& name, Stem stem = Stem::cifar) {
    config.model.name = name;
    config.model.stem = stem;
    const auto graph = nn::build_model(config.model, {.training = false});
    REQUIRE(graph);
    const auto values = nn::initial_values(*graph, 77);
    REQUIRE(values);
    for (const auto& tensor : *values)
      add(tensor.name, tensor.shape, tensor.values);
    config.model.pretrained = (folder / "w.safetensors").string();
  }

  void add(const std::string& name, const Shape& shape, const std::vector<float>& values) {
    values_.push_back(values);
    tensors.push_back({name, "F32", shape, std::as_bytes(std::span{values_.back()})});
  }
  void add_count(const std::string& name) {
    static const std::vector<std::int64_t> count = {100};
    tensors.push_back({name, "I64", {}, std::as_bytes(std::span{count})});
  }
  SafetensorsView& tensor(std::string_view name) {
    return *std::ranges::find(tensors, name, &SafetensorsView::name);
  }
  void remove(std::string_view begin) {
    std::erase_if(tensors, [&](const auto& tensor) { return tensor.name.starts_with(begin); });
  }
  Result<training::Pretrained> read() {
    REQUIRE(write_safetensors(*config.model.pretrained, {{"format", "pt"}}, tensors));
    return training::open_pretrained(config);
  }
  std::string refusal() {
    const auto read_in = read();
    REQUIRE_FALSE(read_in);
    CHECK(read_in.error().code == Errc::invalid_input);
    return read_in.error().message;
  }

  ScratchFolder folder;
  Config config;
  std::vector<SafetensorsView> tensors;

private:
  std::deque<std::vector<float>> values_;
};

std::vector<float> values_of(const StateSourcePtr& state, const std::string& name) {
  const auto number = state->find(name);
  if (!number)
    return {};
  std::vector<float> values(
      static_cast<std::size_t>(state->header().tensors[*number].shape.elements()));
  REQUIRE(state->read(*number, 0, values));
  return values;
}

bool is_of(const StateSourcePtr& state, const SafetensorsView& tensor, const std::string& name) {
  const auto values = values_of(state, name);
  return std::ranges::equal(std::as_bytes(std::span{values}), tensor.bytes);
}

bool has_note(const training::Pretrained& pretrained, const std::string& text) {
  return std::ranges::count(pretrained.notes, text) == 1;
}

} // namespace

TEST_CASE("PyTorch's weights are read completely, without batch counters") {
  SavedModel saved{"resnet18", Stem::imagenet};
  saved.add_count("bn1.num_batches_tracked");
  saved.add_count("layer1.0.bn1.num_batches_tracked");
  const auto pretrained = saved.read();
  REQUIRE(pretrained);
  CHECK(pretrained->state->header().step == 0);
  CHECK(pretrained->state->header().tensors.size() == saved.tensors.size() - 2);
  for (const auto& tensor : saved.tensors)
    if (tensor.dtype == "F32")
      CHECK(is_of(pretrained->state, tensor, tensor.name));
  CHECK(pretrained->notes.size() == 1);
}

TEST_CASE("a common prefix of all names is recognized and reported") {
  for (const std::string prefix : {"module.", "model.", "_orig_mod.module."}) {
    SavedModel saved{"resnet20"};
    saved.add_count("bn1.num_batches_tracked");
    for (auto& tensor : saved.tensors)
      tensor.name = prefix + tensor.name;
    const auto pretrained = saved.read();
    REQUIRE(pretrained);
    CHECK(is_of(pretrained->state, saved.tensor(prefix + "fc.bias"), "fc.bias"));
    CHECK_THAT(pretrained->notes[0], ContainsSubstring("without the prefix \"" + prefix + "\""));
  }
}

TEST_CASE("a head of another size starts new and is named") {
  SavedModel saved{"resnet20"};
  saved.config.model.num_classes = 7;
  const auto pretrained = saved.read();
  REQUIRE(pretrained);
  CHECK(has_note(*pretrained, "fc.weight: 10x64 in the file, 7x64 here: newly initialized"));
  CHECK(has_note(*pretrained, "fc.bias: 10 in the file, 7 here: newly initialized"));
  CHECK(is_of(pretrained->state, saved.tensor("conv1.weight"), "conv1.weight"));
  const auto graph = nn::build_model(saved.config.model, {.training = false});
  const auto anew = nn::initial_value((*graph)[*graph->find("fc.weight")], saved.config.run.seed);
  CHECK(std::ranges::equal(values_of(pretrained->state, "fc.weight"), anew->values));
}

TEST_CASE("another stem starts new and is named") {
  SavedModel saved{"resnet18", Stem::imagenet};
  saved.config.model.stem = Stem::cifar;
  const auto pretrained = saved.read();
  REQUIRE(pretrained);
  CHECK(has_note(*pretrained,
                 "conv1.weight: 64x3x7x7 in the file, 64x3x3x3 here: newly initialized"));
  CHECK(is_of(pretrained->state, saved.tensor("bn1.weight"), "bn1.weight"));
}

TEST_CASE("a removed head starts new, but half of a head is an error") {
  SavedModel saved{"resnet20"};
  saved.remove("fc.weight");
  CHECK_THAT(saved.refusal(), ContainsSubstring("fc.weight: not in the file, expected 10x64"));
  saved.remove("fc.bias");
  const auto pretrained = saved.read();
  REQUIRE(pretrained);
  CHECK(has_note(*pretrained, "fc.bias: not in the file: newly initialized"));
}

TEST_CASE("tensors that do not fit are refused with the nearest name") {
  SavedModel saved{"resnet20"};
  SECTION("an extra tensor") {
    saved.add("extra.gamma", {2}, {1, 2});
    CHECK_THAT(saved.refusal(),
               ContainsSubstring("1 tensor does not fit resnet20\n  extra.gamma: 2 in the "
                                 "file, not in resnet20"));
  }
  SECTION("another name") {
    saved.tensor("layer1.0.conv1.weight").name = "layer1.0.conv_1.weight";
    const auto message = saved.refusal();
    CHECK_THAT(message, ContainsSubstring("layer1.0.conv1.weight: not in the file, expected "
                                          "16x16x3x3; did you mean \"layer1.0.conv_1.weight\"?"));
    CHECK_THAT(message, ContainsSubstring("layer1.0.conv_1.weight: 16x16x3x3 in the file, not in "
                                          "resnet20; did you mean \"layer1.0.conv1.weight\"?"));
  }
  SECTION("another shape") {
    saved.tensor("layer1.0.conv1.weight").shape = {16, 16, 9};
    CHECK_THAT(saved.refusal(), ContainsSubstring("layer1.0.conv1.weight: 16x16x9 in the file, "
                                                  "expected 16x16x3x3"));
  }
  SECTION("an integer type") {
    saved.tensor("layer1.0.conv1.weight").dtype = "I32";
    CHECK_THAT(saved.refusal(), ContainsSubstring("layer1.0.conv1.weight: I32 in the file, "
                                                  "expected F32, F16, BF16 or F64"));
  }
  SECTION("another model, whose first ten problems are listed") {
    saved.config.model.name = "resnet32";
    const auto message = saved.refusal();
    CHECK_THAT(message, ContainsSubstring("; the first 10\n"));
    CHECK(std::ranges::count(message, '\n') == 10);
  }
  CHECK(saved.refusal().starts_with("model.pretrained: " + *saved.config.model.pretrained));
}

TEST_CASE("a file with less than half of a model's values is refused") {
  SavedModel saved{"mlp"};
  saved.config.model.hidden = {300};
  CHECK_THAT(saved.refusal(),
             ContainsSubstring("layers.0.weight: 512x3072 in the file, 300x3072 here"));
}

TEST_CASE("a checkpoint's tensors are used, and a damaged one is refused") {
  SavedModel saved{"resnet20"};
  const auto graph = nn::build_model(saved.config.model, {.training = false});
  auto trained = read_whole(*training::initial_state(*graph, 5)).value();
  const std::vector<float> momentum(10, 1);
  trained.tensors.push_back({"optimizer.momentum.fc.bias", {10}, momentum});
  const std::filesystem::path path = *saved.config.model.pretrained;
  REQUIRE(write_checkpoint(path, trained));
  const auto pretrained = training::open_pretrained(saved.config);
  REQUIRE(pretrained);
  CHECK(pretrained->state->header().tensors.size() == trained.tensors.size() - 1);
  CHECK(std::ranges::equal(values_of(pretrained->state, "fc.weight"),
                           trained.find("fc.weight")->values));
  const auto weights = path / model_file;
  write_byte(weights, std::filesystem::file_size(weights) - 1, '\x7f');
  CHECK_THAT(training::open_pretrained(saved.config).error().message,
             ContainsSubstring("the checksum does not match"));
}

TEST_CASE("a pickle is refused, and the error explains how to convert it") {
  SavedModel saved{"resnet20"};
  const auto path = (saved.folder / "resnet20.pth").string();
  saved.config.model.pretrained = path;
  for (const std::string begin : {"PK\x03\x04", "\x80\x02\x8a\x0a"}) {
    write_bytes(path, begin + std::string(100, 'x'));
    const auto read_in = training::open_pretrained(saved.config);
    REQUIRE_FALSE(read_in);
    CHECK(read_in.error().code == Errc::invalid_input);
    CHECK_THAT(read_in.error().message, ContainsSubstring("torch.load(\"" + path +
                                                          "\", map_location=\"cpu\", "
                                                          "weights_only=True)"));
    CHECK_THAT(read_in.error().message, ContainsSubstring("resnet20.safetensors\")"));
  }
}
