// Tests event files with protoc and TensorBoard.
#include "tests/system/experiment.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Returns the output of check_events.py for a run.
std::string checked(const RunFiles& run) {
  const auto script = source_tree() / "tests/system/tensorboard/check_events.py";
  const auto ended =
      RunningProgram{{"python3", script.string(), TROUPE_PROTOC, run.folder().string()}}.wait();
  CAPTURE(ended.err);
  CHECK(ended.code == 0);
  return ended.out;
}

std::ptrdiff_t event_files(const RunFiles& run) {
  const std::filesystem::directory_iterator files{run / "tensorboard"};
  return std::distance(begin(files), end(files));
}

} // namespace

TEST_CASE("TensorBoard's event files have the values of events.jsonl, also after a resume") {
  if (std::string{TROUPE_PROTOC}.ends_with("NOTFOUND"))
    SKIP("protoc is not installed");
  const Experiment experiment({"run.tensorboard=true", "train.gradient_norm_every=2"});
  const auto first =
      experiment.completed("board", {"train.max_steps=13", "train.schedule.name=constant"});
  CHECK(checked(first).find("starts [0];") != std::string::npos);
  // Resumes one step before the end of the first process: one step is repeated.
  std::filesystem::remove_all(first.checkpoints().back());
  const auto whole = experiment.completed("board", {"train.schedule.name=constant"});
  CHECK(event_files(whole) == 2);
  CHECK(checked(whole).find("starts [0, 12];") != std::string::npos);
}

TEST_CASE("without run.tensorboard there are no event files") {
  const Experiment experiment;
  CHECK_FALSE(experiment.completed("plain").has("tensorboard"));
}

TEST_CASE("event files of a run with a loss scale on two workers have its values") {
  if (std::string{TROUPE_PROTOC}.ends_with("NOTFOUND"))
    SKIP("protoc is not installed");
  const Experiment experiment({"run.tensorboard=true", "precision.mode=amp_fp16", "train.epochs=1",
                               "train.schedule.warmup=0", "parallel.strategy=ddp",
                               "devices.count=2"});
  checked(experiment.completed("scaled"));
}
