/// A step that runs a cuDNN plan.
#pragma once

#include "gpu/lowering/detail/step.hpp"
#include "gpu/lowering/plan_registry.hpp"

#include <functional>
#include <utility>
#include <vector>

namespace troupe::gpu {

/// A plan, and the memory bound to its uids.
class PlanStep : public Step {
public:
  using Address = std::function<void*(const Launch& launch)>;

  PlanStep(const Node& node, TimedPlan plan);

  void bind(cudnn::Uid uid, Address address) { bound_.emplace_back(uid, std::move(address)); }
  void bind(cudnn::Uid uid, TensorId tensor) {
    bind(uid, [tensor](const Launch& launch) { return launch.data(tensor); });
  }

  std::size_t workspace_bytes() const override { return plan_->workspace_bytes(); }
  Status enqueue(const Launch& launch) override;

private:
  const cudnn::Target& target_;
  std::shared_ptr<const cudnn::Plan> plan_;
  std::vector<std::pair<cudnn::Uid, Address>> bound_;
};

} // namespace troupe::gpu
