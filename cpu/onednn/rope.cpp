// Rotary positions.
#include "cpu/detail/sequence_places.hpp"
#include "cpu/onednn/lowering.hpp"

#include <cmath>
#include <limits>

namespace troupe::cpu {

namespace {

/// Cosines, then sines, of the angles of consecutive positions and all pairs.
class Turns {
public:
  explicit Turns(const RopeAttributes& a)
      : places_{static_cast<std::size_t>(a.sequence)}, half_{static_cast<std::size_t>(a.head_dim /
                                                                                      2)},
        values_(2 * places_ * half_) {
    for (std::size_t i = 0; i < half_; ++i)
      frequencies_.push_back(
          std::pow(double{a.theta}, -static_cast<double>(i) / static_cast<double>(half_)));
  }

  void begin_at(std::int32_t first) {
    for (std::size_t row = 0; row < places_; ++row)
      for (std::size_t i = 0; i < half_; ++i) {
        const double place = static_cast<double>(first) + static_cast<double>(row);
        const double angle = place * frequencies_[i];
        values_[row * half_ + i] = static_cast<float>(std::cos(angle));
        values_[(places_ + row) * half_ + i] = static_cast<float>(std::sin(angle));
      }
  }
  const float* cosines(std::size_t row) const { return values_.data() + row % places_ * half_; }
  const float* sines(std::size_t row) const { return cosines(row) + places_ * half_; }

private:
  std::size_t places_, half_;
  std::vector<double> frequencies_;
  std::vector<float> values_;
};

Result<StepPtr> lower_turn(Lowering& lowering, const Node& node, float direction) {
  const auto& x = lowering.graph[node.inputs[0]];
  const auto& a = std::get<RopeAttributes>(node.attributes);
  const auto bytes = static_cast<double>(2 * x.shape.count() * size_of(x.dtype));
  Turns turns{a};
  turns.begin_at(0);
  const auto rows = x.shape.size(0);
  return with_element(x.dtype, [&]<class T>(T) {
    return function_step(node, bytes, 0, [=](const NodeFrame& frame) mutable -> Status {
      if (const auto* const given = frame.in_or_null<std::int32_t>(1)) {
        constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
        TROUPE_TRY(check_places(*given, a.sequence, most));
        turns.begin_at(*given);
      }
      const auto heads = static_cast<std::size_t>(a.heads),
                 half = static_cast<std::size_t>(a.head_dim / 2);
      parallel_for(rows, 16, [&](std::size_t begin, std::size_t end) {
        for (std::size_t row = begin; row < end; ++row) {
          const std::size_t at = row * heads * 2 * half;
          kernels().of<T>().rope(frame.in<T>(0) + at, frame.out<T>(0) + at,
                                 {heads, half, turns.cosines(row), turns.sines(row), direction});
        }
      });
      return {};
    });
  });
}

} // namespace

Result<StepPtr> lower_rope(Lowering& lowering, const Node& node) {
  return lower_turn(lowering, node, 1);
}

Result<StepPtr> lower_rope_backward(Lowering& lowering, const Node& node) {
  return lower_turn(lowering, node, -1);
}

} // namespace troupe::cpu
