#include "training/state/statistics.hpp"

#include "core/fail.hpp"
#include "training/state/optimizer_part.hpp"
#include "training/step_plan.hpp"

namespace troupe::training {

Status Statistics::allocate(const StateOptions& options) {
  TROUPE_TRY(allocate_floats(device_, values_, elements(), MemoryKind::parameters));
  if (options.keeps_statistics)
    TROUPE_TRY(allocate_floats(device_, kept_, elements(), MemoryKind::parameters));
  if (options.commits_statistics && elements() > 0)
    TROUPE_TRY(allocate_floats(device_, committed_,
                               static_cast<std::size_t>(turns(layout_.strategy())) * elements(),
                               MemoryKind::parameters));
  return {};
}

std::int64_t Statistics::turns(const Strategy& strategy) {
  const auto window = rules_of(strategy.policy).window(strategy);
  return strategy.is_asynchronous() ? 2 * window : window + 1;
}

float* Statistics::committed(std::int64_t step) const {
  const auto all = turns(layout_.strategy());
  return committed_->floats() + static_cast<std::size_t>((step + all) % all) * elements();
}

void Statistics::commit(Stream& stream, std::int64_t step) const {
  copy(stream, committed(step), values());
}

void Statistics::commit_all(Stream& stream) const {
  if (commits())
    for (std::int64_t turn = 0; turn < turns(layout_.strategy()); ++turn)
      commit(stream, turn);
}

void Statistics::revert(Stream& stream, std::int64_t step) const {
  copy(stream, values(), committed(step));
}

} // namespace troupe::training
