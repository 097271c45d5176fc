#include "core/checkpoint/safetensors.hpp"
#include "core/config/config.hpp"
#include "core/config/custom_key.hpp"
#include "nn/models/family.hpp"
#include "nn/models/models.hpp"
#include "tests/support/checkpoint_files.hpp"
#include "tests/support/scratch_folder.hpp"
#include "training/earlier_run.hpp"
#include "training/initial_state.hpp"
#include "training/resume.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <fstream>

using namespace troupe;
using troupe::testing::read_bytes;
using troupe::testing::save;
using troupe::testing::ScratchFolder;
using troupe::testing::write_bytes;
using troupe::testing::write_checkpoint;
using troupe::testing::write_safetensors;
namespace fs = std::filesystem;

namespace {

const std::vector<float> values = {1, 2, 3};

Checkpoint checkpoint(const Config& config, std::int64_t step) {
  Checkpoint result;
  result.step = step;
  result.metadata = training::checkpoint_metadata(config);
  result.tensors = {{"w", {3}, values}};
  return result;
}

/// Config of a custom model with a custom key.
Config of_rings(std::int64_t count) {
  static const CustomKey<std::int64_t> rings = {"rings", 3, {}, "How many"};
  const nn::Family tree = {.names = {"tree"},
                           .keys = [](ModelConfig& model) -> std::vector<nn::ModelKey> {
                             return {{.key = custom_key(model, rings)}};
                           }};
  Config config;
  config.model.name = "tree";
  config.model.own = {{"rings", count}};
  config.model.custom_families = CustomRows{std::vector{tree}};
  return config;
}

} // namespace

TEST_CASE("a run without checkpoints starts from the beginning") {
  const ScratchFolder scratch;
  const auto resume_point = training::find_resume_point(Config{}, scratch.path() / "run");
  REQUIRE(resume_point);
  CHECK_FALSE(resume_point->state);
  CHECK(resume_point->notes.empty());
}

TEST_CASE("auto resumes from the newest valid checkpoint and names a damaged one") {
  const ScratchFolder scratch;
  const Config config;
  CheckpointStore store{scratch.path() / "checkpoints"};
  REQUIRE(save(store, checkpoint(config, 10)));
  REQUIRE(save(store, checkpoint(config, 20)));
  const auto weights = store.path_of(20) / model_file;
  fs::resize_file(weights, fs::file_size(weights) - 1);
  const auto resume_point = training::find_resume_point(config, scratch.path());
  REQUIRE(resume_point);
  REQUIRE(resume_point->state);
  CHECK(resume_point->state->header().step == 10);
  REQUIRE(resume_point->notes.size() == 1);
  CHECK(resume_point->notes[0].find("step-000000020") != std::string::npos);
}

TEST_CASE("a checkpoint of another run is refused with both values") {
  const ScratchFolder scratch;
  Config config;
  REQUIRE(save(CheckpointStore{scratch.path() / "checkpoints"}, checkpoint(config, 10)));
  config.data.batch_size = 64;
  const auto resume_point = training::find_resume_point(config, scratch.path());
  REQUIRE_FALSE(resume_point);
  CHECK(resume_point.error().exit_code() == 2);
  CHECK(resume_point.error().message.find("batch_size 128, but the config has 64") !=
        std::string::npos);
}

TEST_CASE("a checkpoint that does not name its run is refused") {
  const ScratchFolder scratch;
  const Config config;
  CheckpointStore store{scratch.path() / "checkpoints"};
  const std::string key = GENERATE("seed", "model", "optimizer", "dataset", "batch_size");
  CAPTURE(key);
  auto nameless = checkpoint(config, 10);
  nameless.metadata.erase(key);
  REQUIRE(save(store, nameless));
  const auto resume_point = training::find_resume_point(config, scratch.path());
  REQUIRE_FALSE(resume_point);
  CHECK(resume_point.error().exit_code() == 2);
  CHECK(resume_point.error().message.starts_with(store.path_of(10).string() +
                                                 ": its metadata lacks the " + key));
}

TEST_CASE("a checkpoint without its step is named, and the previous one is used") {
  const ScratchFolder scratch;
  const Config config;
  CheckpointStore store{scratch.path() / "checkpoints"};
  REQUIRE(save(store, checkpoint(config, 10)));
  std::vector<std::pair<std::string, std::string>> metadata = {{"checksum", std::string(64, '0')},
                                                               {"troupe_checkpoint", "1"},
                                                               {"format", "pt"},
                                                               {"epoch", "0"}};
  for (const auto& pair : training::checkpoint_metadata(config))
    metadata.push_back(pair);
  const auto path = scratch.path() / "checkpoints/step-000000020.safetensors";
  REQUIRE(write_safetensors(path, metadata, {{"w", "F32", {3}, std::as_bytes(std::span{values})}}));
  Sha256 sha;
  auto bytes = read_bytes(path);
  sha.update(bytes);
  bytes.replace(bytes.find(std::string(64, '0')), 64, sha.hex_digest());
  write_bytes(path, bytes);
  const auto resume_point = training::find_resume_point(config, scratch.path());
  REQUIRE(resume_point);
  REQUIRE(resume_point->state);
  CHECK(resume_point->state->header().step == 10);
  REQUIRE(resume_point->notes.size() == 1);
  CHECK(resume_point->notes[0].find("metadata 'step' is not a whole number") != std::string::npos);
}

TEST_CASE("a run keeps its order of samples, and checkpoints without that key were shuffled") {
  const ScratchFolder scratch;
  Config config;
  auto old = checkpoint(config, 10);
  old.metadata.erase("shuffle");
  REQUIRE(save(CheckpointStore{scratch.path() / "checkpoints"}, old));
  CHECK(training::find_resume_point(config, scratch.path()));
  config.data.shuffle = false;
  const auto resume_point = training::find_resume_point(config, scratch.path());
  REQUIRE_FALSE(resume_point);
  CHECK(resume_point.error().message.find("shuffle true, but the config has false") !=
        std::string::npos);
}

TEST_CASE("a run keeps its custom model's keys, and missing ones had their default") {
  const ScratchFolder scratch;
  auto config = of_rings(5);
  CHECK(training::checkpoint_metadata(config).at("model.rings") == "5");
  CheckpointStore store{scratch.path() / "checkpoints"};
  REQUIRE(save(store, checkpoint(config, 10)));
  CHECK(training::find_resume_point(config, scratch.path()));
  const auto other = training::find_resume_point(of_rings(4), scratch.path());
  REQUIRE_FALSE(other);
  CHECK(other.error().message.find("model.rings 5, but the config has 4") != std::string::npos);

  auto older = checkpoint(config, 20);
  older.metadata.erase("model.rings");
  REQUIRE(save(store, older));
  CHECK(training::find_resume_point(of_rings(3), scratch.path()));
  const auto before = training::find_resume_point(config, scratch.path());
  REQUIRE_FALSE(before);
  CHECK(before.error().message.find("model.rings 3, but the config has 5") != std::string::npos);
}

TEST_CASE("the normalization in checkpoints of earlier versions is compared") {
  const ScratchFolder scratch;
  const auto half = [] {
    Config config;
    config.data.normalize.mean = {0.5, 0.4, 0.25};
    config.data.normalize.deviation = {0.25, 0.5, 1};
    return config;
  };
  CheckpointStore store{scratch.path() / "checkpoints"};
  auto old = checkpoint(Config{}, 10);
  const auto refusal_of = [&](const Config& config) {
    const auto resume_point = training::find_resume_point(config, scratch.path());
    REQUIRE_FALSE(resume_point);
    CHECK(resume_point.error().exit_code() == 2);
    return resume_point.error().message;
  };
  SECTION("none: it was the default") {
    REQUIRE(save(store, old));
    CHECK(training::find_resume_point(Config{}, scratch.path()));
    CHECK(refusal_of(half()).find(
              "normalization mean 0.4914, 0.4822, 0.4465, std 0.247, 0.2435, 0.2616, but the "
              "config has mean 0.5, 0.4, 0.25, std 0.25, 0.5, 1;") != std::string::npos);
  }
  SECTION("text") {
    old.metadata["pixel_normalization"] = "mean 0.5, 0.4, 0.25, std 0.25, 0.5, 1";
    REQUIRE(save(store, old));
    CHECK(training::find_resume_point(half(), scratch.path()));
    CHECK(refusal_of(Config{}).find("normalization mean 0.5, 0.4, 0.25, std 0.25, 0.5, 1, but the "
                                    "config has mean 0.4914") != std::string::npos);
  }
  SECTION("text in a file of version 1") {
    old.metadata["pixel_normalization"] = "mean 0.5, 0.4, 0.25, std 0.25, 0.5, 1";
    const ScratchFolder elsewhere;
    const auto path = elsewhere.path() / "old.safetensors";
    REQUIRE(write_checkpoint(path, old));
    auto config = half();
    config.checkpoint.resume = {ResumeConfig::Kind::path, path.string()};
    CHECK(training::find_resume_point(config, scratch.path()));
    config.data.normalize.mean = {0.5, 0.4, 0.5};
    CHECK(refusal_of(config).find("pixel_normalization") != std::string::npos);
  }
  SECTION("both: the data set is compared once it is open") {
    old.metadata["pixel_normalization"] = "mean 0, 0, 0, std 1, 1, 1";
    old.metadata["normalization"] = R"({"mean":[0.5,0.4,0.25],"std":[0.25,0.5,1.0]})";
    REQUIRE(save(store, old));
    CHECK(training::find_resume_point(half(), scratch.path()));
  }
}

TEST_CASE("a run resumes in another precision with a note") {
  const ScratchFolder scratch;
  Config config;
  config.precision.mode = Precision::amp_bf16;
  REQUIRE(save(CheckpointStore{scratch.path() / "checkpoints"}, checkpoint(config, 10)));
  CHECK(training::find_resume_point(config, scratch.path()).value().notes.empty());
  config.precision.mode = Precision::fp32;
  const auto resume_point = training::find_resume_point(config, scratch.path());
  REQUIRE(resume_point);
  REQUIRE(resume_point->state);
  CHECK(resume_point->notes ==
        std::vector<std::string>{
            "the checkpoint of step 10 was trained in amp_bf16; continuing in fp32"});
}

TEST_CASE("with resume never an earlier run stays until the new one begins") {
  const ScratchFolder scratch;
  Config config;
  config.checkpoint.resume.kind = ResumeConfig::Kind::never;
  const auto folder = scratch.path() / "run";
  fs::create_directories(folder);
  std::ofstream{folder / "events.jsonl"} << "kept";
  const auto resume_point = training::find_resume_point(config, folder);
  REQUIRE(resume_point);
  CHECK_FALSE(resume_point->state);
  CHECK(fs::exists(folder / "events.jsonl"));
}

TEST_CASE("a run does not begin in a folder with other files") {
  const ScratchFolder scratch;
  Config config;
  config.checkpoint.resume.kind =
      GENERATE(ResumeConfig::Kind::automatic, ResumeConfig::Kind::never);
  write_bytes(scratch / "thesis.tex", "");
  const auto resume_point = training::find_resume_point(config, scratch.path());
  REQUIRE_FALSE(resume_point);
  CHECK(resume_point.error().exit_code() == 2);
  CHECK(resume_point.error().message.find("thesis.tex") != std::string::npos);
}

TEST_CASE("an earlier run gets the first free number, and the new run keeps its files") {
  const ScratchFolder scratch;
  const auto folder = scratch.path() / "run";
  CHECK_FALSE(training::set_earlier_run_aside(folder, {"new"}).value());
  fs::create_directories(folder / "new");
  fs::create_directories(folder / "checkpoints");
  CHECK_FALSE(training::set_earlier_run_aside(folder, {"new"}).value());
  for (const auto* expected : {"run.1", "run.2"}) {
    fs::create_directories(folder / "new");
    std::ofstream{folder / "events.jsonl"} << "kept";
    CHECK(training::set_earlier_run_aside(folder, {"new", "none"}).value() ==
          scratch.path() / expected);
    CHECK(fs::exists(folder / "new"));
    CHECK_FALSE(fs::exists(folder / "events.jsonl"));
    CHECK(fs::exists(scratch.path() / expected / "events.jsonl"));
    CHECK_FALSE(fs::exists(scratch.path() / expected / "new"));
  }
}

TEST_CASE("a checkpoint named in the config must be readable") {
  const ScratchFolder scratch;
  const auto path = (scratch.path() / "none.safetensors").string();
  Config config;
  std::string key;
  SECTION("to resume from") {
    key = "checkpoint.resume";
    config.checkpoint.resume = {ResumeConfig::Kind::path, path};
  }
  SECTION("to start with") {
    key = "model.pretrained";
    config.model.name = "linear";
    config.model.pretrained = path;
  }
  const auto resume_point = training::find_resume_point(config, scratch.path() / "run");
  REQUIRE_FALSE(resume_point);
  CHECK(resume_point.error().code == Errc::invalid_input);
  CHECK(resume_point.error().message.starts_with(key + ": cannot open " + path));
}

TEST_CASE("pretrained parameters start a run at step 0, and notes list what was used") {
  const ScratchFolder scratch;
  Config config;
  config.model.name = "linear";
  const auto graph = nn::build_model(config.model, {.training = false});
  REQUIRE(graph);
  auto trained = read_whole(*training::initial_state(*graph, 1)).value();
  trained.step = 50;
  trained.metadata = training::checkpoint_metadata(config);
  const auto path = scratch.path() / "trained.safetensors";
  REQUIRE(write_checkpoint(path, trained));
  config.model.pretrained = path.string();
  config.run.seed = 99; // another run
  const auto resume_point = training::find_resume_point(config, scratch.path() / "run");
  REQUIRE(resume_point);
  REQUIRE(resume_point->state);
  CHECK(resume_point->state->header().step == 0);
  CHECK(resume_point->state->header().tensors.size() == 2);
  CHECK(resume_point->notes ==
        std::vector{"model.pretrained: 2 of 2 tensors are from " + path.string()});
}
