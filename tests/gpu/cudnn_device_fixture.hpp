/// Runs an operation graph on a GPU with values of the host, and the scalar truth to compare with.
#pragma once

#include "gpu/cudnn/chooser.hpp"
#include "gpu/cudnn/patterns.hpp"

#include <map>
#include <optional>
#include <vector>

namespace troupe::testing {

using DeviceValues = std::map<gpu::cudnn::Uid, std::vector<float>>;

/// The first GPU; skips the test where there is none, or no cuDNN.
gpu::cudnn::Target gpu_or_skip();

/// The value as the type stores it.
float rounded(float value, cudnnDataType_t type);

/// `count` values in [low, high], as the type stores them; the same for the same seed.
std::vector<float> random_values(std::size_t count, unsigned seed, cudnnDataType_t type,
                                 float low = -0.5f, float high = 1.0f);
std::size_t elements_of(const gpu::cudnn::Dims& dims);

/// Device memory for every tensor of a graph that is not virtual, and for a workspace.
class DeviceTensors {
public:
  /// Tensors without a value become NaN, so that what a plan does not write is seen. Requires that
  /// everything succeeds (Catch2).
  DeviceTensors(const gpu::cudnn::OperationGraph& graph, const DeviceValues& inputs,
                std::size_t workspace_bytes);
  DeviceTensors(const DeviceTensors&) = delete;
  DeviceTensors& operator=(const DeviceTensors&) = delete;
  ~DeviceTensors();

  gpu::cudnn::MeasuringBuffers buffers() const { return {bindings_, workspace_, workspace_bytes_}; }
  /// What the device has now, as floats.
  DeviceValues read() const;

private:
  const gpu::cudnn::OperationGraph& graph_;
  std::vector<gpu::cudnn::Binding> bindings_;
  void* workspace_ = nullptr;
  std::size_t workspace_bytes_;
};

/// All tensors after one run of the first plan; nothing where cuDNN has no plan.
std::optional<DeviceValues> run_on_gpu(const gpu::cudnn::Target& target,
                                       const gpu::cudnn::OperationGraph& graph,
                                       const DeviceValues& inputs,
                                       const gpu::cudnn::PlanPolicy& policy = {});

/// Requires |value - expected| <= tolerance * the largest expected magnitude.
void require_near(const std::vector<float>& values, const std::vector<double>& expected,
                  double tolerance);

// The truth, in double; activations NHWC, filters KRSC.
std::vector<double> true_forward(const gpu::cudnn::ConvolutionProblem& problem,
                                 const std::vector<float>& x, const std::vector<float>& w);
std::vector<double> true_backward_data(const gpu::cudnn::ConvolutionProblem& problem,
                                       const std::vector<float>& dy, const std::vector<float>& w);
std::vector<double> true_backward_filter(const gpu::cudnn::ConvolutionProblem& problem,
                                         const std::vector<float>& x, const std::vector<float>& dy);
/// Sum (power 1) or sum of squares (power 2) per channel of values whose channels are last.
std::vector<double> channel_sums(const std::vector<double>& values, std::int64_t channels,
                                 int power);

} // namespace troupe::testing
