#include "gpu/lowering/detail/plan_step.hpp"

#include <fmt/format.h>

namespace troupe::gpu {

PlanStep::PlanStep(const Node& node, TimedPlan plan)
    : target_{*plan.target}, plan_{std::move(plan.plan)} {
  name = fmt::format("{} {}", to_string(node.op), plan_->tag());
}

Status PlanStep::enqueue(const Launch& launch) {
  std::vector<cudnn::Binding> bindings;
  bindings.reserve(bound_.size());
  for (const auto& [uid, address] : bound_)
    bindings.push_back({uid, address(launch)});
  TROUPE_TRY(target_.use_stream(launch.stream));
  return plan_->execute(target_, bindings, launch.workspace());
}

} // namespace troupe::gpu
