#include "core/fail.hpp"
#include "cpu/interpreter/ops.hpp"

#include <cmath>
#include <limits>

namespace troupe::cpu {

namespace {

constexpr std::int64_t most_places = std::numeric_limits<std::int32_t>::max();

/// Rotates every pair forward, or back if `direction` is -1.
Status turn(const Operands& operands, double direction) {
  const auto& a = operands.attributes<RopeAttributes>();
  const auto half = static_cast<std::size_t>(a.head_dim / 2);
  auto x = operands.read(0);
  const auto width = static_cast<std::size_t>(a.heads * a.head_dim);
  TROUPE_TRY(const auto first, operands.read_first(1, a.sequence, most_places));
  for (std::size_t head = 0; head < x.size(); head += 2 * half) {
    const auto place = first + head / width % static_cast<std::size_t>(a.sequence);
    for (std::size_t i = head; i < head + half; ++i) {
      const double exponent = -static_cast<double>(i - head) / static_cast<double>(half);
      const double angle =
          direction * static_cast<double>(place) * std::pow(double{a.theta}, exponent);
      const double left = x[i], right = x[i + half];
      x[i] = left * std::cos(angle) - right * std::sin(angle);
      x[i + half] = right * std::cos(angle) + left * std::sin(angle);
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
