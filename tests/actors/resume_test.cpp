#include "scratch_folder.hpp"

#include "troupe/actors/resume.hpp"

#include <catch2/catch_test_macros.hpp>

#include <fstream>

using namespace troupe;
using troupe::testing::ScratchFolder;
namespace fs = std::filesystem;

namespace {

const std::vector<float> values = {1, 2, 3};

Checkpoint checkpoint(const Config& config, std::int64_t step) {
  Checkpoint result;
  result.step = step;
  result.metadata = actors::checkpoint_metadata(config);
  result.tensors = {{"w", {3}, values}};
  return result;
}

} // namespace

TEST_CASE("a run without checkpoints begins afresh") {
  const ScratchFolder scratch;
  const auto beginning = actors::find_beginning(Config{}, scratch.path() / "run");
  REQUIRE(beginning);
  CHECK_FALSE(beginning->checkpoint);
  CHECK(beginning->notes.empty());
}

TEST_CASE("auto goes on from the newest valid checkpoint, and names a damaged one") {
  const ScratchFolder scratch;
  const Config config;
  CheckpointStore store{scratch.path() / "checkpoints"};
  REQUIRE(store.save(checkpoint(config, 10)));
  REQUIRE(store.save(checkpoint(config, 20)));
  fs::resize_file(store.path_of(20), fs::file_size(store.path_of(20)) - 1);
  const auto beginning = actors::find_beginning(config, scratch.path());
  REQUIRE(beginning);
  REQUIRE(beginning->checkpoint);
  CHECK(beginning->checkpoint->step == 10);
  REQUIRE(beginning->notes.size() == 1);
  CHECK(beginning->notes[0].find("step-000000020") != std::string::npos);
}

TEST_CASE("a checkpoint of another run is refused with both values") {
  const ScratchFolder scratch;
  Config config;
  REQUIRE(CheckpointStore{scratch.path() / "checkpoints"}.save(checkpoint(config, 10)));
  config.data.batch_size = 64;
  const auto beginning = actors::find_beginning(config, scratch.path());
  REQUIRE_FALSE(beginning);
  CHECK(beginning.error().exit_code() == 2);
  CHECK(beginning.error().message.find("batch_size 128, the config says 64") != std::string::npos);
}

TEST_CASE("a run goes on in another precision, and a note says so") {
  const ScratchFolder scratch;
  Config config;
  config.precision.mode = "amp_bf16";
  REQUIRE(CheckpointStore{scratch.path() / "checkpoints"}.save(checkpoint(config, 10)));
  CHECK(actors::find_beginning(config, scratch.path()).value().notes.empty());
  config.precision.mode = "fp32";
  const auto beginning = actors::find_beginning(config, scratch.path());
  REQUIRE(beginning);
  REQUIRE(beginning->checkpoint);
  CHECK(beginning->notes == std::vector<std::string>{"the checkpoint of step 10 was trained in "
                                                     "amp_bf16; going on in fp32"});
}

TEST_CASE("never moves an earlier run aside, and loses nothing") {
  const ScratchFolder scratch;
  Config config;
  config.checkpoint.resume = "never";
  const auto folder = scratch.path() / "run";
  for (const auto* expected : {"run.1", "run.2"}) {
    fs::create_directories(folder);
    std::ofstream{folder / "events.jsonl"} << "kept";
    const auto beginning = actors::find_beginning(config, folder);
    REQUIRE(beginning);
    CHECK_FALSE(beginning->checkpoint);
    CHECK_FALSE(fs::exists(folder));
    CHECK(fs::exists(scratch.path() / expected / "events.jsonl"));
  }
}

TEST_CASE("a checkpoint named in the config must be readable") {
  const ScratchFolder scratch;
  const auto path = (scratch.path() / "none.safetensors").string();
  Config config;
  std::string key;
  SECTION("to go on from") {
    key = "checkpoint.resume";
    config.checkpoint.resume = path;
  }
  SECTION("to begin with") {
    key = "model.pretrained";
    config.model.pretrained = path;
  }
  const auto beginning = actors::find_beginning(config, scratch.path() / "run");
  REQUIRE_FALSE(beginning);
  CHECK(beginning.error().code == Errc::invalid_input);
  CHECK(beginning.error().message.starts_with(key + ": cannot open " + path));
}

TEST_CASE("pretrained parameters begin a run at step 0, without the optimizer's state") {
  const ScratchFolder scratch;
  Config config;
  auto trained = checkpoint(config, 50);
  trained.tensors.push_back({"optimizer.momentum.w", {3}, values});
  const auto path = scratch.path() / "trained.safetensors";
  REQUIRE(write_checkpoint(path, trained));
  config.model.pretrained = path.string();
  config.run.seed = 99; // another run
  const auto beginning = actors::find_beginning(config, scratch.path() / "run");
  REQUIRE(beginning);
  REQUIRE(beginning->checkpoint);
  CHECK(beginning->checkpoint->step == 0);
  CHECK(beginning->checkpoint->tensors.size() == 1);
}
