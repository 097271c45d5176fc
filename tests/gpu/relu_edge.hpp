/// A ReLU after batch norm, as forward and backward compute it when batch norm is fused into
/// convolutions, in f64: whether a value passes, how far forward's roundings may move it, and how
/// many values may cross 0 for that reason.
///
/// Let u = 2^-11, the largest relative error of one rounding to f16. In y = s * x + b, s and b are
/// rounded, and a device may round the product too: y is off by at most e = u * (2 * |s * x| +
/// |b|), which is 3 * u * |b| at the edge, where s * x = -b. A mask differs only when y lies
/// between 0 and its error, so in an interval of length e on one side of 0: the share of such
/// elements is at most p * e, with p the density of y at 0. bound() estimates p in a window that is
/// many times as wide, on both sides of 0, where p hardly changes. For y from N(0, 1) and |b| = 0.8
/// that is 0.4 * 3 * 0.8 / 2048 = 4.7 of 10'000 elements.
#pragma once

#include "tests/gpu/cudnn_device_fixture.hpp"

namespace troupe::testing {

inline constexpr double half_rounding = 1.0 / 2048;

/// A 1x1 convolution of ResNet-50's second stage, on eight images.
inline constexpr gpu::cudnn::ConvolutionProblem relu_problem = {
    8, 28, 28, 64, 64, 1, 1, 0, CUDNN_DATA_HALF};

std::vector<float> normal_floats(std::size_t count, std::uint64_t stream, float mean = 0,
                                 float deviation = 1);
/// Rounds values to f16.
std::vector<float> in_half(std::vector<float> values);

/// A batch norm as in a layer during training: its normally distributed inputs have another mean
/// and deviation in each channel.
struct ReluLayer {
  std::size_t channels = static_cast<std::size_t>(relu_problem.in),
              count = elements_of(relu_problem.x());
  std::vector<float> exact_x, x, mean, inv_std, scale, shift;
  std::vector<float> factor, offset; ///< as forward reads them

  explicit ReluLayer(std::uint64_t stream);

  /// Results of batch norm for the stored (rounded) inputs, and for the inputs before rounding.
  double result(std::size_t i) const { return result_of(x[i], i % channels); }
  double unstored_result(std::size_t i) const { return result_of(exact_x[i], i % channels); }
  /// Returns the result with rounded factor and offset.
  double rounded_result(std::size_t i) const;
  /// Returns (x - mean) * inv_std.
  double standard(std::size_t i) const;
  /// Returns the largest error of forward's result.
  double error(std::size_t i) const;
  /// Adds the inputs of a backward pattern; their uids begin at `first`.
  void add_to(DeviceValues& inputs, gpu::cudnn::Uid first) const;

private:
  double result_of(float value, std::size_t channel) const;
  void set_statistics(std::size_t channel);
};

/// Input of a ReLU: the result of batch norm, plus the shortcut at a block's end.
struct ReluEdge {
  Residual shortcut;
  ReluLayer first{100}, second{200};
  std::vector<float> added;

  explicit ReluEdge(Residual of);

  double value(std::size_t i) const { return sum(i, &ReluLayer::result); }
  double unstored_value(std::size_t i) const { return sum(i, &ReluLayer::unstored_result); }
  double rounded_value(std::size_t i) const { return sum(i, &ReluLayer::rounded_result); }
  double error(std::size_t i) const;
  /// Returns the largest share of elements whose mask may differ.
  double bound() const;

private:
  double sum(std::size_t i, double (ReluLayer::*of)(std::size_t) const) const;
};

} // namespace troupe::testing
