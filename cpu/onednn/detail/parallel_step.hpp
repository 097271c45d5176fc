/// Steps that are functions, whose work may be divided among the team's threads.
#pragma once

#include "cpu/onednn/lowering.hpp"
#include "cpu/parallel.hpp"

namespace troupe::cpu {

/// Elements of a part: with one operation each, fewer are not worth another thread.
inline constexpr std::size_t elementwise_grain = 16384;

using NodeFrame = OfNode<Frame>;

/// Calls run(NodeFrame), which returns a status and may keep state between runs.
template <class Run>
class FunctionStep final : public Step {
public:
  FunctionStep(const Node& node, std::size_t scratch, Run run)
      : node_{node}, scratch_{scratch}, run_{std::move(run)} {}
  Status run(const Frame& frame) override { return run_(NodeFrame{frame, node_}); }
  std::size_t scratch_bytes() const override { return scratch_; }

private:
  Node node_;
  std::size_t scratch_;
  Run run_;
};

/// `bytes`: read and written by one run. `scratch`: bytes of scratch memory.
template <class Run>
StepPtr function_step(const Node& node, double bytes, std::size_t scratch, Run run) {
  auto step = std::make_unique<FunctionStep<Run>>(node, scratch, std::move(run));
  step->name = to_string(node.op);
  step->bytes = bytes;
  return step;
}

/// Calls work(frame, begin, end) for ranges of `count` elements or rows.
template <class Work>
StepPtr parallel_step(const Node& node, double bytes, std::size_t count, std::size_t grain,
                      Work work) {
  return function_step(
      node, bytes, 0, [count, grain, work = std::move(work)](const NodeFrame& frame) -> Status {
        parallel_for(count, grain,
                     [&](std::size_t begin, std::size_t end) { work(frame, begin, end); });
        return {};
      });
}

} // namespace troupe::cpu
