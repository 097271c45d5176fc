#include "actors/membership/voters.hpp"

namespace troupe::actors {

std::vector<training::Voter> choose_voters(const std::vector<training::Voter>& nodes,
                                           const std::vector<training::Voter>& witnesses,
                                           const std::vector<training::Voter>& spares) {
  constexpr std::size_t most = 5; // an odd number
  std::vector<training::Voter> voters;
  for (const auto* some : {&nodes, &witnesses})
    for (const auto& voter : *some)
      if (voters.size() < most)
        voters.push_back(voter);
  if (voters.size() % 2 == 0 && !spares.empty())
    voters.push_back(spares.front());
  return voters;
}

} // namespace troupe::actors
