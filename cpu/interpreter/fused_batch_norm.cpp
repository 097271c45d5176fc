// Batch norm split into parts that are fused with convolutions (nn/passes/fuse_statistics).
#include "cpu/interpreter/ops.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace troupe::cpu {

namespace {

/// Writes the outputs derived from statistics; the variance is biased. The op's inputs from
/// `scale_at` on are scale, shift, running_mean and running_var.
Status finalize(const Operands& operands, std::size_t scale_at, const Values& mean,
                const Values& variance) {
  const auto& a = operands.attributes<FinalizeAttributes>();
  const auto scale = operands.read(scale_at), shift = operands.read(scale_at + 1);
  auto running_mean = operands.read(scale_at + 2), running_var = operands.read(scale_at + 3);
  const auto count = static_cast<double>(a.count), momentum = double{a.momentum};
  Values inv_std(mean.size()), factor(mean.size()), offset(mean.size());
  for (std::size_t c = 0; c < mean.size(); ++c) {
    inv_std[c] = 1 / std::sqrt(variance[c] + double{a.eps});
    factor[c] = scale[c] * inv_std[c];
    offset[c] = shift[c] - mean[c] * factor[c];
    running_mean[c] = (1 - momentum) * running_mean[c] + momentum * mean[c];
    running_var[c] = (1 - momentum) * running_var[c] + momentum * variance[c] * count / (count - 1);
  }
  operands.write(0, mean);
  operands.write(1, inv_std);
  for (std::size_t at = 2, end = a.also_f32 ? 6 : 4; at < end; at += 2) {
    operands.write(at, factor);
    operands.write(at + 1, offset);
  }
  if (a.copies) {
    operands.write(operands.outputs() - 2, scale);
    operands.write(operands.outputs() - 1, shift);
  }
  operands.write_back(scale_at + 2, running_mean);
  operands.write_back(scale_at + 3, running_var);
  return {};
}

} // namespace

Status batch_norm_finalize(const Operands& operands) {
  const auto sum = operands.read(0), sum_of_squares = operands.read(1);
  const auto count = static_cast<double>(operands.attributes<FinalizeAttributes>().count);
  Values mean(sum.size()), variance(sum.size());
  for (std::size_t c = 0; c < sum.size(); ++c) {
    mean[c] = sum[c] / count;
    // Rounded sums may give a value slightly below 0.
    variance[c] = std::max(sum_of_squares[c] / count - mean[c] * mean[c], 0.0);
  }
  return finalize(operands, 2, mean, variance);
}

Status batch_norm_statistics(const Operands& operands) {
  const auto x = operands.read(0);
  const auto channels = operands.read(1).size();
  const auto count = static_cast<double>(operands.attributes<FinalizeAttributes>().count);
  Values mean(channels), variance(channels);
  for (std::size_t i = 0; i < x.size(); ++i)
    mean[i % channels] += x[i] / count;
  for (std::size_t i = 0; i < x.size(); ++i)
    variance[i % channels] += std::pow(x[i] - mean[i % channels], 2) / count;
  return finalize(operands, 1, mean, variance);
}

Status scale_shift(const Operands& operands) {
  const auto& a = operands.attributes<ScaleShiftAttributes>();
  auto y = operands.read_scaled(0, 1,
                                operands.inputs() > 4   ? Residual::normalized
                                : operands.inputs() > 3 ? Residual::plain
                                                        : Residual::none);
  if (a.relu)
    for (auto& value : y)
      value = value < 0 ? 0 : value; // a NaN stays
  operands.write(0, y);
  if (a.mask)
    operands.write_mask(1, y);
  return {};
}

namespace {

/// A batch norm as five inputs of a node, and its reductions as five outputs.
struct BatchNorm {
  Values x, scale, shift, mean, inv_std;

  BatchNorm(const Operands& operands, std::size_t first)
      : x{operands.read(first)}, scale{operands.read(first + 1)}, shift{operands.read(first + 2)},
        mean{operands.read(first + 3)}, inv_std{operands.read(first + 4)} {}

  double normalized(std::size_t i) const {
    const auto c = i % mean.size();
    return (x[i] - mean[c]) * inv_std[c];
  }
  double result(std::size_t i) const {
    const auto c = i % mean.size();
    return normalized(i) * scale[c] + shift[c];
  }

  // With h = (x - mean) * inv_std, M values per channel and k = scale * inv_std, the gradient of x
  // is k * (dz - dshift / M - h * dscale / M) (batch_norm.cpp): linear in dz and x.
  void reduce(const Operands& operands, std::size_t first, const Values& dz) const {
    const auto channels = scale.size();
    const auto rows = static_cast<double>(x.size()) / static_cast<double>(channels);
    Values dscale(channels), dshift(channels);
    for (std::size_t i = 0; i < dz.size(); ++i) {
      dscale[i % channels] += dz[i] * normalized(i);
      dshift[i % channels] += dz[i];
    }
    Values dy_factor(channels), x_factor(channels), offset(channels);
    for (std::size_t c = 0; c < channels; ++c) {
      dy_factor[c] = scale[c] * inv_std[c];
      x_factor[c] = -dy_factor[c] * inv_std[c] * dscale[c] / rows;
      offset[c] = -dy_factor[c] * dshift[c] / rows - x_factor[c] * mean[c];
    }
    for (const auto* values : {&dscale, &dshift, &dy_factor, &x_factor, &offset})
      operands.write(first++, *values);
  }
};

} // namespace

void write_masked_and_reduced(const Operands& operands, Values dx) {
  const auto& a = operands.attributes<Conv2dAttributes>();
  const BatchNorm first{operands, 2};
  const auto plain = a.residual == Residual::plain ? operands.read(7) : Values{};
  std::optional<BatchNorm> second;
  if (a.residual == Residual::normalized)
    second.emplace(operands, 7);
  const auto other = a.add_gradient ? operands.read(operands.inputs() - 1) : Values(dx.size());
  for (std::size_t i = 0; i < dx.size(); ++i) {
    const double residual = second ? second->result(i) : plain.empty() ? 0 : plain[i];
    const bool passes = first.result(i) + residual > 0;
    dx[i] = passes ? round_to(operands.output(0).dtype, dx[i] + other[i]) : 0;
  }
  operands.write(0, dx);
  first.reduce(operands, 1, dx);
  if (second)
    second->reduce(operands, 6, dx);
}

Status batch_norm_input_gradient(const Operands& operands) {
  auto dx = operands.read(0);
  const auto x = operands.read(1), dy_factor = operands.read(2), x_factor = operands.read(3),
             offset = operands.read(4);
  for (std::size_t i = 0; i < dx.size(); ++i) {
    const auto c = i % offset.size();
    dx[i] = dx[i] * dy_factor[c] + x[i] * x_factor[c] + offset[c];
  }
  for (std::size_t i = 5; i < operands.inputs(); ++i)
    operands.write(i - 4, operands.read(i));
  operands.write(0, dx);
  return {};
}

} // namespace troupe::cpu
