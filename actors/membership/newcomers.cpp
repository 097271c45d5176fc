#include "actors/membership/newcomers.hpp"

#include <algorithm>

namespace troupe::actors {

bool Newcomers::are_awaited() {
  bool waits = false;
  for (const auto& member : participants_.members()) {
    if (!participants_.is_newcomer(member))
      continue;
    auto& question = questions_[member.id];
    if (question.probe == 0)
      question.probe = probes_.of_answer({member.id, {member.address, ""}});
    waits = waits || !question.is_answered;
  }
  return waits;
}

std::optional<NodeId> Newcomers::end(const Probes::Outcome& outcome) {
  const auto found = std::ranges::find(questions_, outcome.probe,
                                       [](const auto& asked) { return asked.second.probe; });
  if (found == questions_.end())
    return std::nullopt;
  found->second.is_answered = outcome.silent.empty();
  return outcome.silent.empty() ? std::nullopt : std::optional{found->first};
}

} // namespace troupe::actors
