#include "core/device/dropout_math.hpp"
#include "cpu/kernels/kernels.hpp"
#include "cpu/onednn/detail/parallel_step.hpp"

#include <algorithm>

namespace troupe::cpu {

namespace {

DropoutMask mask_of(const DropoutRule& rule, std::uint64_t key, std::size_t first) {
  const auto counter = dropout_counter(rule, 0);
  return {.key = key,
          .counter = {counter[0], counter[1], counter[2], counter[3]},
          .bound = rule.bound,
          .scale = rule.scale,
          .first = first};
}

} // namespace

/// Threads take ranges of elements, which may begin and end within a sample.
Result<StepPtr> lower_dropout(Lowering& lowering, const Node& node) {
  const auto& x = lowering.graph[node.inputs[0]];
  const auto elements = static_cast<std::size_t>(x.shape.elements());
  const auto of_sample =
      elements / static_cast<std::size_t>(lowering.graph[node.inputs[1]].shape[0]);
  const auto rule = dropout_rule(std::get<DropoutAttributes>(node.attributes));
  const auto bytes = static_cast<double>(2 * elements * size_of(x.dtype));
  return with_element(x.dtype, [&]<class T>(T) {
    return parallel_step(
        node, bytes, elements, elementwise_grain,
        [rule, of_sample](const NodeFrame& frame, std::size_t begin, std::size_t end) {
          const auto* const from = frame.in<T>(0);
          const auto* const keys = frame.in<std::int32_t>(1);
          auto* const to = frame.out<T>(0);
          while (begin < end) {
            const auto sample = begin / of_sample, first = begin % of_sample;
            const auto count = std::min(of_sample - first, end - begin);
            const auto mask = mask_of(rule, dropout_key(keys, sample), first);
            kernels().of<T>().dropout(mask, from + begin, to + begin, count);
            begin += count;
          }
        });
  });
}

} // namespace troupe::cpu
