// Tests that each kernel of a step at a real size has at least as many blocks as an H100 has
// multiprocessors. The emulated device records the launches and does not run them.
#include "core/config/config.hpp"
#include "core/device/loss_scale.hpp"
#include "gpu/cuda_device.hpp"
#include "gpu/lowering/executable.hpp"
#include "nn/optimizer.hpp"
#include "tests/emulation/runtime/recording.hpp"
#include "tests/gpu/empty_plan_cache.hpp"
#include "training/platforms/detail/cuda_options.hpp"
#include "training/state/model_state.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

/// Null on a GPU.
extern "C" void troupe_emulated_record(emulation::LaunchRecorder recorder) __attribute__((weak));

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr std::uint64_t multiprocessors = 132;

/// A launch of one of our kernels: the function that launches it, with its template arguments.
struct Launched {
  std::string launcher;
  std::uint64_t blocks;
};

/// While an object exists, launches are recorded and not run.
class Recording {
public:
  Recording() {
    launched_.clear();
    troupe_emulated_record([](const char* launcher, std::uint64_t blocks) {
      launched_.push_back({launcher, blocks});
    });
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording() { troupe_emulated_record(nullptr); }

  /// Returns the launches since the last call.
  static std::vector<Launched> take() { return std::exchange(launched_, {}); }

private:
  static inline std::vector<Launched> launched_; // only this thread launches
};

template <class T>
T require(Result<T> result) {
  if (!result)
    FAIL(result.error().to_string());
  return std::move(*result);
}

/// A worker's step on the recording device: its state has addresses, but no values.
class RecordedStep {
public:
  explicit RecordedStep(const Config& config)
      : config_{config}, device_{require(gpu::make_cuda_device(0, {}))},
        stream_{device_->create_stream({.name = "compute"})} {
    auto engine = require(training::cuda_options(config_, *device_));
    engine.passes.input = training::cuda_input(config_, false);
    auto model = require(
        nn::prepare_model(config_, config_.data.batch_size, nn::PassMode::training, engine.passes));
    graph_ = std::move(model.graph);
    engine.compile.memory = std::move(model.memory);
    executable_ = require(device_->compile(graph_, engine.compile));
    make_state();
  }

  std::vector<Launched> run() {
    Recording::take();
    executable_->refresh_all(*stream_);
    executable_->run(*stream_);
    for (const auto& all : state_->buffers().part().chunks())
      update(all);
    if (state_->loss_scale())
      device_->update_loss_scale(*stream_, LossScaleOptions{}, state_->loss_scale());
    return Recording::take();
  }

private:
  void make_state() {
    const auto arguments = nn::optimizer_arguments(config_.train.optimizer);
    state_ = require(
        training::ModelState::create(*device_, executable_->layout(),
                                     {.optimizer_slots = training::optimizer_slot_names(arguments),
                                      .loss_scale = loss_scale_options(config_.precision)}));
    training::bind(*executable_, *state_);
    std::vector<const std::byte*> batch;
    for (const auto& tensor : executable_->batch()) {
      batch_.push_back(require(device_->allocate(tensor.bytes(), MemoryKind::data)));
      batch.push_back(batch_.back()->data());
    }
    REQUIRE(executable_->set_batch(at_addresses(executable_->batch(), {batch[0], batch[1]})));
  }

  void update(const OptimizerViews& all) {
    auto* const scratch = state_->scratch();
    const auto arguments = nn::optimizer_arguments(config_.train.optimizer);
    auto* const scale = state_->loss_scale();
    if (scale)
      device_->check_finite(*stream_, all.gradients, all.elements, &scale->found_inf);
    device_->add_squared_norm(*stream_, arguments, all.gradients, all.elements,
                              &scratch->squared_norm, scale);
    device_->clip_factor(*stream_, &scratch->squared_norm, 1, &scratch->clip_factor);
    device_->optimizer_step(*stream_, arguments, all, &scratch->clip_factor, scale);
  }

  Config config_;
  std::unique_ptr<gpu::CudaDevice> device_;
  Graph graph_;
  std::unique_ptr<Executable> executable_;
  std::shared_ptr<training::ModelState> state_;
  std::vector<BufferPtr> batch_;
  std::unique_ptr<Stream> stream_; ///< last: destroyed before what its work uses
};

/// A kernel that may have fewer blocks than an H100 has multiprocessors, with the reason.
struct SmallGrid {
  const char* launcher; ///< part of its name
  const char* reason;
};

/// Checks the blocks of each launch, and that each listed kernel occurs.
void check_blocks(const Config& config, const std::vector<SmallGrid>& small) {
  const EmptyPlanCache cache; // plans that did not run have no times worth keeping
  const Recording recording;
  const auto launched = RecordedStep{config}.run();
  CHECK(launched.size() > 50);
  std::set<const char*> used;
  for (const auto& launch : launched) {
    if (launch.blocks >= multiprocessors)
      continue;
    const auto found = std::ranges::find_if(small, [&](const SmallGrid& one) {
      return launch.launcher.find(one.launcher) != std::string::npos;
    });
    if (found != small.end())
      used.insert(found->launcher);
    else
      FAIL_CHECK(launch.blocks << " blocks: " << launch.launcher);
  }
  for (const auto& one : small) {
    INFO(one.launcher << ": " << one.reason);
    CHECK(used.contains(one.launcher));
  }
}

Config language_model(const char* name, std::int64_t sequence, std::int64_t batch,
                      std::int64_t vocabulary) {
  Config config;
  config.model.name = name;
  config.model.vocabulary = vocabulary;
  config.model.positions = sequence;
  config.data.dataset = "text";
  config.data.tokenizer.path = "any"; // not read
  config.data.sequence_length = sequence;
  config.data.batch_size = batch;
  config.precision.mode = Precision::amp_bf16;
  config.devices.kind = DeviceKind::cuda;
  config.train.optimizer.name = OptimizerKind::adamw;
  return config;
}

Config resnet50() {
  Config config;
  config.model.name = "resnet50";
  config.model.stem = Stem::imagenet;
  config.model.num_classes = 1000;
  config.data.image_size = 224;
  config.data.batch_size = 128;
  config.precision.mode = Precision::amp_fp16;
  config.devices.kind = DeviceKind::cuda;
  config.train.optimizer.name = OptimizerKind::sgd;
  config.train.optimizer.momentum = 0.9;
  return config;
}

} // namespace

/// Kernels that compute single numbers.
const SmallGrid of_loss{"launch_mean_loss", "one number"},
    of_gradient_factor{"launch_gradient_factor", "one number"},
    of_clip_factor{"launch_clip_factor", "one number"},
    of_loss_scale{"launch_update_loss_scale", "one number"};

TEST_CASE("each kernel of a step of GPT-2 124M fills an H100 or is listed with a reason") {
  if (!troupe_emulated_record)
    SKIP("launches are recorded on the emulated device");
  check_blocks(language_model("gpt2", 1024, 16, 50304),
               {of_loss, of_gradient_factor, of_clip_factor});
}

TEST_CASE("each kernel of a step of LLaMA 1B fills an H100 or is listed with a reason") {
  if (!troupe_emulated_record)
    SKIP("launches are recorded on the emulated device");
  check_blocks(language_model("llama-1b", 2048, 4, 32000),
               {of_loss, of_gradient_factor, of_clip_factor});
}

TEST_CASE("each kernel of a step of ResNet-50 fills an H100 or is listed with a reason") {
  if (!troupe_emulated_record)
    SKIP("launches are recorded on the emulated device");
  check_blocks(resnet50(), {of_clip_factor,
                            of_loss_scale,
                            {"launch_batch_norm_finalize", "a thread per channel, of at most 2048"},
                            {"AvgPool<__half>", "its result has 128 x 2048 elements"},
                            {"launch_few_ranges", "some units have less than 10000 parameters"},
                            {"Cast<__half, float>", "the logits are 128 x 1000"},
                            {"Cast<float, __half>", "the gradient of the logits is 128 x 1000"},
                            {"launch_softmax_cross_entropy(", "a warp per row, of 128"}});
}
