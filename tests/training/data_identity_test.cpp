#include "core/config/config.hpp"
#include "core/config/custom_data_set.hpp"
#include "core/fail.hpp"
#include "data/custom_images.hpp"
#include "data/detail/memory_images.hpp"
#include "tests/support/single_node_job.hpp"
#include "training/input/data_identity.hpp"
#include "training/job.hpp"
#include "training/model_card.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace troupe;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Opens a custom data set that is normalized by a mean of `hundredths` / 100.
template <int hundredths>
Result<data::AdapterPtr> open_dots(const Config& config, data::Split split) {
  constexpr float mean = hundredths / 100.0f;
  TROUPE_TRY(auto images,
             data::images_in_memory({.name = "dots",
                                     .source = "here",
                                     .class_names = {"few", "many"},
                                     .channels = 1,
                                     .normalization = {{mean, mean, mean}, {0.5f, 0.5f, 0.5f}}},
                                    {0, 1, 0, 1}, std::vector<std::uint8_t>(16),
                                    {.height = 2, .width = 2}));
  return data::open_custom_images(std::move(images), config, split);
}

Config on_dots(decltype(CustomDataSet::open) open) {
  Config config;
  config.model.name = "linear";
  config.model.num_classes = 2;
  config.model.in_channels = 1;
  config.data.dataset = "dots";
  config.data.image_size = 2;
  config.data.batch_size = 2;
  config.data.custom_sets =
      CustomRows{std::vector{CustomDataSet{.traits = {.name = "dots"}, .open = open}}};
  config.devices.kind = DeviceKind::cpu;
  config.devices.count = 1;
  config.run.output = "no-such-folder";
  return config;
}

/// Returns the resume point of a run of the config after its first step.
training::ResumePoint after_a_step(const Config& config) {
  Checkpoint before{.step = 1, .tensors = {}};
  before.metadata = training::open_job(config, {}).value()->checkpoint_metadata;
  return {.state = state_in_memory(before), .path = "step-000000001", .notes = {}};
}

} // namespace

TEST_CASE("a run resumes only with the data of its checkpoint") {
  training::ResumePoint resume_point;
  resume_point.path = "runs/a/step-000000010.safetensors";
  Checkpoint before{.step = 10, .metadata = {}, .tensors = {}};
  const data::MemoryImages cats{{.name = "mnist", .source = "a", .class_names = {"cat", "dog"}},
                                {0, 1},
                                std::vector<std::uint8_t>(6),
                                1,
                                1};
  const data::MemoryImages cows{{.name = "mnist", .source = "b", .class_names = {"cat", "cow"}},
                                {0, 1},
                                std::vector<std::uint8_t>(6),
                                1,
                                1};
  const data::MemoryImages three{{.name = "mnist", .source = "c", .class_names = {"cat", "dog"}},
                                 {0, 1, 1},
                                 std::vector<std::uint8_t>(9),
                                 1,
                                 1};
  const data::MemoryImages darker{{.name = "mnist", .source = "d", .class_names = {"cat", "dog"}},
                                  {0, 1},
                                  std::vector<std::uint8_t>(6, 9),
                                  1,
                                  1};
  const auto described = [](const data::ImageDataset& data) {
    auto metadata = training::describe_data(data, data.fingerprint());
    metadata.emplace(training::normalization_key, "same");
    return metadata;
  };
  SECTION("the same data") {
    before.metadata = described(cats);
    resume_point.state = state_in_memory(before);
    CHECK(training::check_same_data(resume_point, described(cats)).value().empty());
  }
  SECTION("other data") {
    before.metadata = described(cats);
    resume_point.state = state_in_memory(before);
    const auto refused = [&](const data::ImageDataset& now, const std::string& values) {
      const auto checked = training::check_same_data(resume_point, described(now));
      REQUIRE_FALSE(checked);
      CHECK(checked.error().exit_code() == 2);
      CHECK(checked.error().message ==
            "the checkpoint of step 10 was trained on " + values +
                "; a run can resume only on the same data: to train on the new data, start another "
                "run (run.name) with model.pretrained: runs/a/step-000000010.safetensors");
    };
    refused(three, "2 samples, but the data set has 3 samples");
    refused(cows, "a class 1 named \"dog\", but the data set has a class 1 named \"cow\"");
    refused(darker, "data with the fingerprint " + cats.fingerprint() +
                        ", but the data set has data with the fingerprint " + darker.fingerprint());
  }
  SECTION("unknown data") {
    resume_point.state = state_in_memory(before);
    const auto notes = training::check_same_data(resume_point, described(cats));
    REQUIRE(notes);
    REQUIRE(notes->size() == 1);
    CHECK(notes->front().find("it lacks samples, class_names, data_fingerprint") !=
          std::string::npos);
  }
}

TEST_CASE("a run on a custom data set resumes only with its normalization") {
  const auto resume_point = after_a_step(on_dots(open_dots<25>));
  CHECK(training::open_job(on_dots(open_dots<25>), resume_point));
  const auto other = training::open_job(on_dots(open_dots<50>), resume_point);
  REQUIRE_FALSE(other);
  CHECK(other.error().exit_code() == 2);
  CHECK_THAT(
      other.error().message,
      ContainsSubstring(R"(inputs normalized by {"mean":[0.25],"std":[0.5]}, but the data set)") &&
          ContainsSubstring(R"(inputs normalized by {"mean":[0.5],"std":[0.5]})"));
}
