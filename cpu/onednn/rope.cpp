// Rotary positions.
#include "cpu/detail/sequence_places.hpp"
#include "cpu/kernels/kernels.hpp"
#include "cpu/onednn/detail/parallel_step.hpp"

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

template <class T>
class RopeStep final : public Step {
public:
  RopeStep(const Node& node, const Tensor& x, float direction)
      : node_{node}, attributes_{std::get<RopeAttributes>(node.attributes)},
        rows_{static_cast<std::size_t>(x.shape[0])}, direction_{direction}, turns_{attributes_} {
    name = to_string(node.op);
    bytes = static_cast<double>(2 * static_cast<std::size_t>(x.shape.elements()) * sizeof(T));
    turns_.begin_at(0);
  }

  Status run(const Frame& frame) override {
    if (node_.inputs.size() == 2) {
      constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
      const std::int32_t first = *frame.data<std::int32_t>(node_.inputs[1]);
      TROUPE_TRY(check_places(first, attributes_.sequence, most));
      turns_.begin_at(first);
    }
    parallel_for(rows_, 16, [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row)
        turn(frame, row);
    });
    return {};
  }

private:
  void turn(const Frame& frame, std::size_t row) const {
    const auto heads = static_cast<std::size_t>(attributes_.heads);
    const auto half = static_cast<std::size_t>(attributes_.head_dim / 2);
    const std::size_t at = row * heads * 2 * half;
    kernels().of<T>().rope(frame.data<T>(node_.inputs[0]) + at,
                           frame.data<T>(node_.outputs[0]) + at,
                           {heads, half, turns_.cosines(row), turns_.sines(row), direction_});
  }

  Node node_;
  RopeAttributes attributes_;
  std::size_t rows_;
  float direction_;
  Turns turns_;
};

Result<StepPtr> lower_turn(Lowering& lowering, const Node& node, float direction) {
  const auto& x = lowering.graph[node.inputs[0]];
  return typed_step<RopeStep>(x.dtype, node, x, direction);
}

} // namespace

Result<StepPtr> lower_rope(Lowering& lowering, const Node& node) {
  return lower_turn(lowering, node, 1);
}

Result<StepPtr> lower_rope_backward(Lowering& lowering, const Node& node) {
  return lower_turn(lowering, node, -1);
}

} // namespace troupe::cpu
