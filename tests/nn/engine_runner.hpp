/// An executable of the host device with the flat buffers that a shard manager would own.
#pragma once

#include "core/config/train.hpp"
#include "core/device/executable.hpp"
#include "cpu/host_device.hpp"
#include "nn/compile.hpp"

#include <functional>
#include <string>
#include <vector>

namespace troupe::nn::test {

class EngineRunner {
public:
  /// Fails the test when the graph does not compile. `layout`: uses the storage layout of another
  /// executable. `precision`: rounds stored values accordingly, and scales the loss by 1024 when
  /// the precision has a loss scale.
  EngineRunner(const Graph& graph, Engine engine, const MemoryPlan& memory,
               const StorageLayout* layout = nullptr, Precision precision = Precision::fp32);
  ~EngineRunner();
  EngineRunner(const EngineRunner&) = delete;
  EngineRunner& operator=(const EngineRunner&) = delete;

  Executable& executable() { return *executable_; }
  Stream& stream() { return *stream_; }
  const StepOutputs& outputs() const { return outputs_; }

  using Values = std::function<std::vector<float>(const std::string& name, const Shape& shape)>;
  /// Sets the value of every parameter and statistic, in canonical layout.
  void fill(const Values& values);
  void set_batch(std::vector<float> images, std::vector<std::int32_t> labels);
  void set_tokens(std::vector<std::int32_t> tokens, std::vector<std::int32_t> labels);

  /// Runs one forward pass, and a backward pass if requested, over the batch. Returns the status of
  /// the stream.
  Status run(bool backward);
  /// Runs the optimizer on every parameter. `decay` selects the parameters with weight decay
  /// (nn::decays).
  void update(OptimizerArguments arguments, DecayScope decay = DecayScope::all);

  /// Return values in canonical layout. Statistics and parameters are found by their names,
  /// gradients (without the loss scale) by the names of their parameters.
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
