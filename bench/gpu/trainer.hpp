/// The model on one device that bench_gpu_train_step times. Its step is a plain loop.
#pragma once

#include "bench/gpu/step_count.hpp"
#include "core/config/config.hpp"
#include "gpu/cuda_device.hpp"
#include "gpu/lowering/executable.hpp"
#include "training/state/model_state.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe::bench {

struct Options {
  std::string model = "resnet50";
  Precision precision = Precision::amp_fp16;
  Fusion fusion = Fusion::full;
  std::int64_t batch = 128, size = 224, classes = 1000, channels = 3;
  int warmup = 10, least_steps = 20, device = 0;
  double seconds = 3;
  bool profile = false, trace = false;
  bool deterministic = false; ///< measures no plans
  std::int64_t sequence = 0;  ///< tokens per sample of a language model; 0: samples are images
  std::int64_t vocabulary = 50304;
  std::optional<std::int64_t> layers = {}, width = {}; ///< of a language model; empty: its own

  bool is_language() const { return sequence > 0; }
  /// Images or tokens per step.
  std::int64_t samples_of_step() const { return is_language() ? batch * sequence : batch; }
};

/// Prints the error and exits.
[[noreturn]] void give_up(const Error& error);

template <class T>
T value_or_give_up(Result<T> result) {
  if (!result)
    give_up(result.error());
  return std::move(*result);
}

/// A node of the lowered graph: its time, traffic and operations.
struct NodeTime {
  std::string name, output, unit;
  double microseconds = 0;
  gpu::Traffic traffic;
};

/// Runs forward, backward and the optimizer on one fixed random micro-batch in device memory: SGD
/// with momentum for images, AdamW for tokens.
class Trainer {
public:
  explicit Trainer(const Options& options);

  /// Runs the first steps, in which passes are captured into CUDA graphs. Blocks.
  void warm_up();
  /// Enqueues one step.
  void step();
  EventPtr record() { return stream_->record(); }
  void synchronize();
  /// Returns the loss of the last step. Blocks.
  float loss();
  /// Returns the median times of the nodes over a few passes, in the order of the pass. Blocks.
  std::vector<NodeTime> profile();
  /// Whether cuDNN is available. A model without convolutions runs without it, but count() needs
  /// it.
  bool can_count() { return device_->plans().has_value(); }
  /// Counts traffic, operations and launches of a step with this device's plans.
  std::vector<CountedWork> count();
  MemoryUse memory() const { return device_->memory(); }
  const std::string& device_name() const { return device_->info().name; }
  /// Seconds that each phase of construction took, in order.
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
  CompileOptions compiled_; ///< with what the graph was compiled
  std::unique_ptr<Executable> executable_;
  gpu::CudaExecutable* lowered_ = nullptr; ///< points into executable_
  std::shared_ptr<training::ModelState> state_;
  OptimizerArguments first_update_;
  BufferPtr inputs_, targets_;
  StepOutputs outputs_;
  std::int64_t steps_ = 0;
  std::unique_ptr<Stream> stream_; ///< last: destroyed before what its work uses
};

} // namespace troupe::bench
