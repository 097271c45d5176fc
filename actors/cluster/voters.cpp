#include "voters.hpp"

namespace troupe::actors {

std::vector<engine::Voter> choose_voters(const std::vector<NodeInfo>& nodes,
                                         const std::vector<NodeInfo>& witnesses) {
  constexpr std::size_t most = 5;
  std::vector<engine::Voter> voters;
  for (const auto* some : {&nodes, &witnesses})
    for (const auto& node : *some)
      if (voters.size() < most)
        voters.push_back({node.address, node.process});
  return voters;
}

} // namespace troupe::actors
