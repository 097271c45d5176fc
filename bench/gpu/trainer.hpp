/// The model on one device that bench_gpu_train_step times, and its step as a plain loop.
#pragma once

#include "bench/gpu/step_count.hpp"
#include "core/config/config.hpp"
#include "gpu/cuda_device.hpp"
#include "gpu/lowering/executable.hpp"
#include "training/state/model_state.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe::bench {

struct Options {
  std::string model = "resnet50", precision = "amp_fp16", fusion = "full";
  std::int64_t batch = 128, size = 224, classes = 1000, channels = 3;
  int warmup = 10, least_steps = 20, device = 0;
  double seconds = 3;
  bool profile = false, trace = false;
  std::int64_t sequence = 0; ///< tokens of a sample: of a language model; 0: samples are images
  std::int64_t vocabulary = 50304;

  bool is_language() const { return sequence > 0; }
  /// Images or tokens.
  std::int64_t samples_of_step() const { return is_language() ? batch * sequence : batch; }
};

/// Says what is wrong and ends the program.
[[noreturn]] void give_up(const Error& error);

template <class T>
T value_or_give_up(Result<T> result) {
  if (!result)
    give_up(result.error());
  return std::move(*result);
}

/// A node of the lowered graph: how long it takes, and what it moves and computes.
struct NodeTime {
  std::string name, output, unit;
  double microseconds = 0;
  gpu::Traffic traffic;
};

/// Forward, backward and the optimizer on one fixed random micro-batch in the device's memory: SGD
/// with momentum for images, AdamW for tokens.
class Trainer {
public:
  explicit Trainer(const Options& options);

  /// The first steps, among which passes become graphs. Blocks.
  void warm_up();
  /// Enqueues one.
  void step();
  EventPtr record() { return stream_->record(); }
  void synchronize();
  /// The loss of the last step. Blocks.
  float loss();
  /// Medians over a few passes, in the order of the pass. Blocks.
  std::vector<NodeTime> profile();
  /// Whether there is cuDNN, which a model without convolutions can do without, but not count().
  bool can_count() { return device_->plans().has_value(); }
  /// What a step moves, computes and launches by this device's plans.
  std::vector<CountedWork> count();
  MemoryUse memory() const { return device_->memory(); }
  const std::string& device_name() const { return device_->info().name; }
  /// Seconds that each part of making it took, in their order.
  const std::vector<std::pair<std::string, double>>& phases() const { return phases_.seconds; }

private:
  OptimizerArguments optimizer() const;
  void make_state();
  void make_batch();
  std::vector<std::byte> random_images() const;
  std::vector<std::int32_t> random_below(std::int64_t bound) const;

  struct Phases {
    std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
    std::vector<std::pair<std::string, double>> seconds{};

    void end(const char* name);
  };

  Options options_;
  Config config_;
  Phases phases_;
  std::unique_ptr<gpu::CudaDevice> device_;
  Graph graph_;
  std::unique_ptr<Executable> executable_;
  gpu::CudaExecutable* lowered_ = nullptr; ///< within it
  std::shared_ptr<training::ModelState> state_;
  OptimizerArguments first_update_;
  BufferPtr inputs_, targets_;
  StepOutputs outputs_;
  std::int64_t steps_ = 0;
  std::unique_ptr<Stream> stream_; ///< last: it ends before what its work uses
};

} // namespace troupe::bench
