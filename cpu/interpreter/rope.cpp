#include "ops.hpp"

#include <cmath>

namespace troupe::cpu {

namespace {

/// Turns every pair forward, or back where `direction` is -1.
Status turn(const Operands& operands, double direction) {
  const auto& a = operands.attributes<RopeAttributes>();
  const auto half = static_cast<std::size_t>(a.head_dim / 2);
  auto x = operands.read(0);
  const auto width = static_cast<std::size_t>(a.heads * a.head_dim);
  for (std::size_t head = 0; head < x.size(); head += 2 * half) {
    const auto place = head / width % static_cast<std::size_t>(a.sequence);
    for (std::size_t i = head; i < head + half; ++i) {
      const double exponent = -static_cast<double>(i - head) / static_cast<double>(half);
      const double angle =
          direction * static_cast<double>(place) * std::pow(double{a.theta}, exponent);
      const double first = x[i], second = x[i + half];
      x[i] = first * std::cos(angle) - second * std::sin(angle);
      x[i + half] = second * std::cos(angle) + first * std::sin(angle);
    }
  }
  operands.write(0, x);
  return {};
}

} // namespace

Status rope(const Operands& operands) {
  return turn(operands, 1);
}

Status rope_backward(const Operands& operands) {
  return turn(operands, -1);
}

} // namespace troupe::cpu
