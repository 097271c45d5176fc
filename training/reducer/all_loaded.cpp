#include "training/reducer/all_loaded.hpp"

#include "core/fail.hpp"
#include "core/net/peer_endpoint.hpp"

#include <array>
#include <vector>

namespace troupe::training {

namespace {

/// Practically no timeout: the failure detector finds lost nodes.
constexpr std::chrono::hours time_limit{24};

collectives::LinkName to_first(std::int32_t node) {
  return {.group = "loaded", .from = node, .to = 0};
}

/// The first node receives a byte from each other node, then answers all of them.
Status collect(collectives::ConnectionGroup& connection_group, const NodeAssignment& assignment) {
  std::vector<net::Connection> others;
  std::array<std::byte, 1> word{};
  for (std::int32_t node = 1; node < std::ssize(assignment.generation.nodes); ++node) {
    TROUPE_TRY(auto other, connection_group.accept(to_first(node), time_limit));
    TROUPE_TRY(net::read_all(other, word, connection_group.io_deadline(time_limit)));
    others.push_back(std::move(other));
  }
  for (auto& other : others)
    TROUPE_TRY(net::write_all(other, word, connection_group.io_deadline(time_limit)));
  return {};
}

} // namespace

Status await_all_loaded(collectives::ConnectionGroup& connection_group,
                        const NodeAssignment& assignment, const TimeoutsConfig& timeouts) {
  if (assignment.node == 0)
    return collect(connection_group, assignment);
  std::array<std::byte, 1> word{};
  TROUPE_TRY(auto first,
             connection_group.connect(net::peer_endpoint(assignment.generation.nodes.front().data),
                                      to_first(assignment.node), timeouts.quorum));
  TROUPE_TRY(net::write_all(first, word, connection_group.io_deadline(time_limit)));
  return net::read_all(first, word, connection_group.io_deadline(time_limit));
}

} // namespace troupe::training
