/// An executable of the host device with the flat buffers that a shard manager would own.
#pragma once

#include "core/device/executable.hpp"
#include "cpu/host_device.hpp"
#include "nn/compile.hpp"

#include <functional>
#include <string>
#include <vector>

namespace troupe::nn::test {

class EngineRunner {
public:
  /// Fails the test when the graph does not compile. `layout`: store as another executable does.
  /// `precision`: what is stored is rounded as it says; a loss is scaled by 1024 where it is.
  EngineRunner(const Graph& graph, CompileOptions::Engine engine, const MemoryPlan& memory,
               const StorageLayout* layout = nullptr, Precision precision = Precision::fp32);
  ~EngineRunner();
  EngineRunner(const EngineRunner&) = delete;
  EngineRunner& operator=(const EngineRunner&) = delete;

  Executable& executable() { return *executable_; }
  Stream& stream() { return *stream_; }
  const StepOutputs& outputs() const { return outputs_; }

  using Values = std::function<std::vector<float>(const std::string& name, const Shape& shape)>;
  /// Gives every parameter and statistic its values, in canonical layout.
  void fill(const Values& values);
  void set_batch(std::vector<float> images, std::vector<std::int32_t> labels);
  void set_tokens(std::vector<std::int32_t> tokens, std::vector<std::int32_t> labels);

  /// One forward and backward (when asked for) pass over the batch. The status of the stream.
  Status run(bool backward);
  /// The optimizer on every parameter. What does not decay is what `decay` says (nn::decays).
  void update(OptimizerArguments arguments, const std::string& decay = "all");

  /// Canonical layout; statistics and parameters by their names, gradients (without the loss scale)
  /// by their parameters'.
  std::vector<float> parameter(const std::string& name) const;
  std::vector<float> gradient(const std::string& name) const;
  std::vector<float> statistic(const std::string& name) const;
  std::vector<float> tensor(const std::string& name, std::size_t elements);

private:
  using Buffers = std::vector<std::vector<float>>; ///< by UnitId

  std::vector<float> decode(const Slot& slot, const std::vector<float>& from) const;

  std::unique_ptr<cpu::HostDevice> device_ = cpu::make_host_device(0, 2);
  std::unique_ptr<Stream> stream_ = device_->create_stream({.name = "compute", .threads = 2});
  std::unique_ptr<Executable> executable_;
  Buffers parameters_, gradients_, state0_, state1_;
  std::vector<float> statistics_, images_;
  std::vector<std::int32_t> tokens_, labels_;
  StepOutputs outputs_;
  DType stored_;
  float loss_scale_;
};

} // namespace troupe::nn::test
