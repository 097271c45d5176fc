#include "cpu/interpreter/ops.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace troupe::cpu {

namespace {

/// Returns x; with `add`, x plus the addend, rounded to x's type, which it also writes.
Values read_rows(const Operands& operands, bool add) {
  auto x = operands.read(0);
  if (!add)
    return x;
  std::ranges::transform(x, operands.read(operands.inputs() - 1), x.begin(),
                         [dtype = operands.input(0).dtype](double value, double addend) {
                           return round_to(dtype, value + addend);
                         });
  operands.write(operands.outputs() - 1, x);
  return x;
}

/// Adds the other part of the gradient to dx as if dx were stored. Writes dx in each of its types.
void write_gradient(const Operands& operands, const NormFusion& fusion, Values dx) {
  if (fusion.add_gradient)
    std::ranges::transform(dx, operands.read(operands.inputs() - 1), dx.begin(),
                           [dtype = operands.output(0).dtype](double part, double other) {
                             return round_to(dtype, part) + other;
                           });
  operands.write(0, dx);
  if (fusion.narrow)
    operands.write(operands.outputs() - 1, dx);
}

} // namespace

Status layer_norm(const Operands& operands) {
  const auto& attributes = operands.attributes<LayerNormAttributes>();
  const double eps = double{attributes.eps};
  auto y = read_rows(operands, attributes.fusion.add);
  const auto scale = operands.read(1), shift = operands.read(2);
  const auto width = scale.size();
  const auto columns = static_cast<double>(width);
  Values mean(y.size() / width), inv_std(mean.size());
  for (std::size_t row = 0; row < mean.size(); ++row) {
    double* const values = y.data() + row * width;
    double variance = 0;
    for (std::size_t c = 0; c < width; ++c)
      mean[row] += values[c] / columns;
    for (std::size_t c = 0; c < width; ++c)
      variance += (values[c] - mean[row]) * (values[c] - mean[row]) / columns;
    inv_std[row] = 1 / std::sqrt(variance + eps);
    for (std::size_t c = 0; c < width; ++c)
      values[c] = (values[c] - mean[row]) * inv_std[row] * scale[c] + shift[c];
  }
  operands.write(0, y);
  operands.write(1, mean);
  operands.write(2, inv_std);
  return {};
}

/// With x' the normalized x and g = dy * scale, means over the row: dx = inv_std * (g - mean(g) -
/// x' * mean(g * x')).
Status layer_norm_backward(const Operands& operands) {
  const auto dy = operands.read(0), x = operands.read(1), scale = operands.read(2),
             mean = operands.read(3), inv_std = operands.read(4);
  const auto width = scale.size();
  const auto columns = static_cast<double>(width);
  Values dx(x.size()), dscale(width), dshift(width);
  for (std::size_t row = 0; row < mean.size(); ++row) {
    const auto normalized = [&](std::size_t c) {
      return (x[row * width + c] - mean[row]) * inv_std[row];
    };
    double mean_g = 0, mean_gx = 0;
    for (std::size_t c = 0; c < width; ++c) {
      const double d = dy[row * width + c];
      mean_g += d * scale[c] / columns;
      mean_gx += d * scale[c] * normalized(c) / columns;
      dscale[c] += d * normalized(c);
      dshift[c] += d;
    }
    for (std::size_t c = 0; c < width; ++c)
      dx[row * width + c] =
          inv_std[row] * (dy[row * width + c] * scale[c] - mean_g - normalized(c) * mean_gx);
  }
  write_gradient(operands, operands.attributes<LayerNormAttributes>().fusion, std::move(dx));
  operands.write(1, dscale);
  operands.write(2, dshift);
  return {};
}

Status rms_norm(const Operands& operands) {
  const auto& attributes = operands.attributes<RmsNormAttributes>();
  const double eps = double{attributes.eps};
  auto y = read_rows(operands, attributes.fusion.add);
  const auto scale = operands.read(1);
  const auto width = scale.size();
  Values inv_rms(y.size() / width);
  for (std::size_t row = 0; row < inv_rms.size(); ++row) {
    double squares = 0;
    for (std::size_t c = 0; c < width; ++c)
      squares += y[row * width + c] * y[row * width + c];
    inv_rms[row] = 1 / std::sqrt(squares / static_cast<double>(width) + eps);
    for (std::size_t c = 0; c < width; ++c)
      y[row * width + c] *= inv_rms[row] * scale[c];
  }
  operands.write(0, y);
  operands.write(1, inv_rms);
  return {};
}

/// With x' the normalized x and g = dy * scale, the mean over the row: dx = inv_rms * (g - x' *
/// mean(g * x')).
Status rms_norm_backward(const Operands& operands) {
  const auto dy = operands.read(0), x = operands.read(1), scale = operands.read(2),
             inv_rms = operands.read(3);
  const auto width = scale.size();
  Values dx(x.size()), dscale(width);
  for (std::size_t row = 0; row < inv_rms.size(); ++row) {
    double mean = 0;
    for (std::size_t c = 0; c < width; ++c) {
      const auto i = row * width + c;
      mean += dy[i] * scale[c] * x[i] * inv_rms[row] / static_cast<double>(width);
      dscale[c] += dy[i] * x[i] * inv_rms[row];
    }
    for (std::size_t c = 0; c < width; ++c) {
      const auto i = row * width + c;
      dx[i] = inv_rms[row] * (dy[i] * scale[c] - x[i] * inv_rms[row] * mean);
    }
  }
  write_gradient(operands, operands.attributes<RmsNormAttributes>().fusion, std::move(dx));
  operands.write(1, dscale);
  return {};
}

} // namespace troupe::cpu
