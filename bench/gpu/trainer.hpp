/// What bench_gpu_train_step times: a model on one device and its step as a plain loop.
#pragma once

#include "step_count.hpp"

#include "troupe/core/config/config.hpp"
#include "troupe/engine/state/model_state.hpp"
#include "troupe/gpu/cuda_device.hpp"
#include "troupe/gpu/lowering/executable.hpp"

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

/// Forward, backward and SGD with momentum on one fixed random micro-batch in the device's memory.
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
  /// What a step moves, computes and launches by this device's plans.
  std::vector<CountedWork> count();
  MemoryUse memory() const { return device_->memory(); }
  const std::string& device_name() const { return device_->info().name; }
  /// Seconds that each part of making it took, in their order.
  const std::vector<std::pair<std::string, double>>& phases() const { return phases_.seconds; }

private:
  OptimizerArguments sgd() const;
  void make_state();
  void make_batch();

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
  std::shared_ptr<engine::ModelState> state_;
  BufferPtr images_, labels_;
  StepOutputs outputs_;
  std::int64_t steps_ = 0;
  std::unique_ptr<Stream> stream_; ///< last: it ends before what its work uses
};

} // namespace troupe::bench
