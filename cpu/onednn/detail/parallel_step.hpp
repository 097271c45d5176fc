/// Steps whose work is divided among the team's threads.
#pragma once

#include "cpu/onednn/lowering.hpp"
#include "cpu/parallel.hpp"

namespace troupe::cpu {

/// Elements of a part: with one operation each, fewer are not worth another thread.
inline constexpr std::size_t elementwise_grain = 16384;

/// Calls work(frame, begin, end) for ranges of `count` elements or rows.
template <class Work>
class ParallelStep final : public Step {
public:
  ParallelStep(std::size_t count, std::size_t grain, Work work)
      : count_{count}, grain_{grain}, work_{std::move(work)} {}

  Status run(const Frame& frame) override {
    parallel_for(count_, grain_,
                 [&](std::size_t begin, std::size_t end) { work_(frame, begin, end); });
    return {};
  }

private:
  std::size_t count_, grain_;
  Work work_;
};

/// `bytes`: read and written by one run.
template <class Work>
StepPtr parallel_step(const Node& node, double bytes, std::size_t count, std::size_t grain,
                      Work work) {
  auto step = std::make_unique<ParallelStep<Work>>(count, grain, std::move(work));
  step->name = to_string(node.op);
  step->bytes = bytes;
  return step;
}

} // namespace troupe::cpu
