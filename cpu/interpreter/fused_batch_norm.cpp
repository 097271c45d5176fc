// Batch norm in parts that stand at the ends of convolutions (nn/passes/fuse_statistics).
#include "ops.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::cpu {

namespace {

/// Writes what becomes of statistics, the variance being biased. The op's inputs from `scale` on
/// are scale, shift, running_mean and running_var.
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
  operands.write(2, factor);
  operands.write(3, offset);
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
    // Rounded sums may give a little less than 0.
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
  auto y = operands.read(0);
  const auto factor = operands.read(1), offset = operands.read(2);
  const auto residual = operands.inputs() > 3 ? operands.read(3) : Values{};
  const bool scaled = operands.inputs() > 4;
  const auto residual_factor = scaled ? operands.read(4) : Values{};
  const auto residual_offset = scaled ? operands.read(5) : Values{};
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto c = i % factor.size();
    y[i] = y[i] * factor[c] + offset[c];
    if (scaled)
      y[i] += residual[i] * residual_factor[c] + residual_offset[c];
    else if (!residual.empty())
      y[i] += residual[i];
    if (operands.attributes<ScaleShiftAttributes>().relu)
      y[i] = y[i] < 0 ? 0 : y[i]; // a NaN stays
  }
  operands.write(0, y);
  return {};
}

// With h = (x - mean) * inv_std, M values per channel and k = scale * inv_std, the gradient of x is
// k * (dz - dshift / M - h * dscale / M) (batch_norm.cpp): linear in dz and x.
void write_masked_and_reduced(const Operands& operands, Values dx) {
  const auto x = operands.read(2), scale = operands.read(3), shift = operands.read(4),
             mean = operands.read(5), inv_std = operands.read(6);
  const auto channels = scale.size();
  const auto rows = static_cast<double>(x.size()) / static_cast<double>(channels);
  Values dscale(channels), dshift(channels);
  for (std::size_t i = 0; i < dx.size(); ++i) {
    const auto c = i % channels;
    const double normalized = (x[i] - mean[c]) * inv_std[c];
    dx[i] = normalized * scale[c] + shift[c] > 0 ? round_to(operands.output(0).dtype, dx[i]) : 0;
    dscale[c] += dx[i] * normalized;
    dshift[c] += dx[i];
  }
  Values dy_factor(channels), x_factor(channels), offset(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    dy_factor[c] = scale[c] * inv_std[c];
    x_factor[c] = -dy_factor[c] * inv_std[c] * dscale[c] / rows;
    offset[c] = -dy_factor[c] * dshift[c] / rows - x_factor[c] * mean[c];
  }
  operands.write(0, dx);
  operands.write(1, dscale);
  operands.write(2, dshift);
  operands.write(3, dy_factor);
  operands.write(4, x_factor);
  operands.write(5, offset);
}

Status batch_norm_input_gradient(const Operands& operands) {
  auto dx = operands.read(0);
  const auto x = operands.read(1), dy_factor = operands.read(2), x_factor = operands.read(3),
             offset = operands.read(4);
  for (std::size_t i = 0; i < dx.size(); ++i) {
    const auto c = i % offset.size();
    dx[i] = dx[i] * dy_factor[c] + x[i] * x_factor[c] + offset[c];
  }
  operands.write(0, dx);
  return {};
}

} // namespace troupe::cpu
