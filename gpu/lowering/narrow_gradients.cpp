#include "gpu/lowering/narrow_gradients.hpp"

#include "gpu/kernels/flat.hpp"

#include <fmt/format.h>

namespace troupe::gpu {

namespace {

class WidenStep final : public Step {
public:
  explicit WidenStep(const std::vector<NarrowGradient>& gradients) : gradients_{gradients} {
    name = fmt::format("widen {} weight gradients", gradients.size());
  }

  Status enqueue(const Launch& launch) override {
    const auto type = gradients_.front().type;
    std::vector<CastRange> ranges;
    ranges.reserve(gradients_.size());
    for (const auto& one : gradients_) {
      auto* const sum = launch.sum_of(one.gradient);
      ranges.push_back({launch.staging + one.offset, sum ? sum : launch.data<float>(one.gradient),
                        one.elements});
    }
    if (launch.sums)
      launch_add_ranges(launch.stream, ranges, type);
    else
      launch_cast_ranges(launch.stream, ranges, type, DType::f32);
    return {};
  }

private:
  std::vector<NarrowGradient> gradients_;
};

} // namespace

std::size_t NarrowGradients::add(TensorId gradient, std::size_t elements, DType type) {
  all.push_back({gradient, elements, type, bytes});
  bytes += aligned(elements * size_of(type));
  return all.back().offset;
}

StepPtr widen_gradients(const NarrowGradients& gradients) {
  return gradients.all.empty() ? nullptr : std::make_unique<WidenStep>(gradients.all);
}

} // namespace troupe::gpu
