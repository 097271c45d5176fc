#include "training/strategies/diloco/round_registry.hpp"

#include "training/strategies/diloco/fragments.hpp"

#include <algorithm>
#include <utility>

namespace troupe::training {

using collectives::MessagePtr;

RoundRegistry::RoundRegistry(const Strategy& strategy, int fragments, std::int64_t first_step)
    : replica_groups_{strategy.replica_groups()},
      quorum_{static_cast<int>(std::clamp<std::int64_t>(
          strategy.diloco.quorum.value_or(replica_groups_), 1, replica_groups_))},
      steps_{strategy.rounds.steps} {
  for (int fragment = 0; fragment < fragments; ++fragment) {
    const auto step = next_round(strategy, fragment, first_step);
    open_.push_back({step, std::vector(static_cast<std::size_t>(replica_groups_), step), {}});
  }
}

bool RoundRegistry::expects(Round round, int replica_group) const {
  return round.fragment >= 0 && round.fragment < std::ssize(open_) && replica_group >= 0 &&
         replica_group < replica_groups_ &&
         open_[index(round.fragment)].coming[static_cast<std::size_t>(replica_group)] == round.step;
}

void RoundRegistry::add(Round round, int replica_group, MessagePtr pseudo_gradient) {
  auto& open = open_[index(round.fragment)];
  open.coming[static_cast<std::size_t>(replica_group)] += steps_;
  open.here[{round.step, replica_group}] = std::move(pseudo_gradient);
}

int RoundRegistry::came_to_next(int fragment) const {
  const auto& open = open_[index(fragment)];
  return static_cast<int>(
      std::ranges::count_if(open.coming, [&](auto coming) { return coming > open.step; }));
}

std::vector<MessagePtr> RoundRegistry::close(int fragment) {
  open_[index(fragment)].step += steps_;
  return take_rest(fragment);
}

bool RoundRegistry::is_settled(int fragment, std::int64_t steps) const {
  const auto& open = open_[index(fragment)];
  return open.step >= steps &&
         std::ranges::all_of(open.coming, [&](auto coming) { return coming >= steps; });
}

/// No replica group starts a round before its previous one is closed, so all entries belong to
/// rounds before the next.
std::vector<MessagePtr> RoundRegistry::take_rest(int fragment) {
  std::vector<MessagePtr> taken;
  for (auto& [whose, pseudo_gradient] : std::exchange(open_[index(fragment)].here, {}))
    taken.push_back(std::move(pseudo_gradient));
  return taken;
}

} // namespace troupe::training
