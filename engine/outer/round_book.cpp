#include "engine/outer/round_book.hpp"

#include "collectives/fragments.hpp"

#include <algorithm>
#include <utility>

namespace troupe::engine {

using collectives::MailPtr;

RoundBook::RoundBook(const collectives::Strategy& strategy, int fragments, std::int64_t first_step)
    : teams_{strategy.teams()}, quorum_{std::clamp(strategy.outer.quorum.value_or(teams_), 1,
                                                   teams_)},
      steps_{strategy.rounds.steps} {
  for (int fragment = 0; fragment < fragments; ++fragment) {
    const auto step = collectives::next_round(strategy, fragment, first_step);
    open_.push_back({step, std::vector(static_cast<std::size_t>(teams_), step), {}});
  }
}

bool RoundBook::expects(Round round, int team) const {
  return round.fragment >= 0 && round.fragment < std::ssize(open_) && team >= 0 && team < teams_ &&
         open_[index(round.fragment)].coming[static_cast<std::size_t>(team)] == round.step;
}

void RoundBook::come(Round round, int team, MailPtr change) {
  auto& open = open_[index(round.fragment)];
  open.coming[static_cast<std::size_t>(team)] += steps_;
  open.here[{round.step, team}] = std::move(change);
}

int RoundBook::came_to_next(int fragment) const {
  const auto& open = open_[index(fragment)];
  return static_cast<int>(
      std::ranges::count_if(open.coming, [&](auto coming) { return coming > open.step; }));
}

std::vector<MailPtr> RoundBook::close(int fragment) {
  open_[index(fragment)].step += steps_;
  return take_rest(fragment);
}

bool RoundBook::is_settled(int fragment, std::int64_t steps) const {
  const auto& open = open_[index(fragment)];
  return open.step >= steps &&
         std::ranges::all_of(open.coming, [&](auto coming) { return coming >= steps; });
}

/// Nobody begins a round whose last has not been closed: what is here is of rounds before the next.
std::vector<MailPtr> RoundBook::take_rest(int fragment) {
  std::vector<MailPtr> taken;
  for (auto& [whose, change] : std::exchange(open_[index(fragment)].here, {}))
    taken.push_back(std::move(change));
  return taken;
}

} // namespace troupe::engine
