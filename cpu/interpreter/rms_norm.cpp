#include "cpu/interpreter/ops.hpp"

#include <cmath>

namespace troupe::cpu {

Status rms_norm(const Operands& operands) {
  const double eps = double{operands.attributes<RmsNormAttributes>().eps};
  auto y = operands.read(0);
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
  operands.write(0, dx);
  operands.write(1, dscale);
  return {};
}

} // namespace troupe::cpu
