/// Runs an operation graph on a GPU with host values, and computes the scalar reference.
#pragma once

#include "gpu/cudnn/chooser.hpp"
#include "gpu/cudnn/patterns.hpp"

#include <map>
#include <optional>
#include <vector>

namespace troupe::testing {

using DeviceValues = std::map<gpu::cudnn::Uid, std::vector<float>>;

/// Returns the first GPU; skips the test when there is no GPU or no cuDNN.
gpu::cudnn::Target gpu_or_skip();

/// Returns the value rounded to the type.
float rounded(float value, cudnnDataType_t type);

/// Returns `count` values in [low, high], rounded to the type; equal seeds give equal values.
std::vector<float> random_values(std::size_t count, unsigned seed, cudnnDataType_t type,
                                 float low = -0.5f, float high = 1.0f);
std::size_t elements_of(const gpu::cudnn::Dims& dims);

/// Device memory for every tensor of a graph that is not virtual, and for a workspace.
class DeviceTensors {
public:
  /// Fills tensors without a value with NaN, so that elements that a plan does not write are
  /// detected. Requires that everything succeeds (Catch2).
  DeviceTensors(const gpu::cudnn::OperationGraph& graph, const DeviceValues& inputs,
                std::size_t workspace_bytes);
  DeviceTensors(const DeviceTensors&) = delete;
  DeviceTensors& operator=(const DeviceTensors&) = delete;
  ~DeviceTensors();

  gpu::cudnn::MeasuringBuffers buffers() const { return {bindings_, workspace_, workspace_bytes_}; }
  /// Returns the current device values as floats.
  DeviceValues read() const;

private:
  const gpu::cudnn::OperationGraph& graph_;
  std::vector<gpu::cudnn::Binding> bindings_;
  void* workspace_ = nullptr;
  std::size_t workspace_bytes_;
};

/// Returns all tensors after one run of the first plan, or nothing when cuDNN has no plan.
std::optional<DeviceValues> run_on_gpu(const gpu::cudnn::Target& target,
                                       const gpu::cudnn::OperationGraph& graph,
                                       const DeviceValues& inputs,
                                       const gpu::cudnn::PlanPolicy& policy = {});

/// Requires |value - expected| <= tolerance * the largest expected magnitude.
void require_near(const std::vector<float>& values, const std::vector<double>& expected,
                  double tolerance);

// The reference, in double; activations are NHWC, filters KRSC.
std::vector<double> true_forward(const gpu::cudnn::ConvolutionProblem& problem,
                                 const std::vector<float>& x, const std::vector<float>& w);
std::vector<double> true_backward_data(const gpu::cudnn::ConvolutionProblem& problem,
                                       const std::vector<float>& dy, const std::vector<float>& w);
std::vector<double> true_backward_filter(const gpu::cudnn::ConvolutionProblem& problem,
                                         const std::vector<float>& x, const std::vector<float>& dy);
/// Returns the sum (power 1) or the sum of squares (power 2) per channel; the channel is the last
/// dimension.
std::vector<double> channel_sums(const std::vector<double>& values, std::int64_t channels,
                                 int power);

} // namespace troupe::testing
