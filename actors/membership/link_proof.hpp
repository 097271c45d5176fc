/// Proves that a node can exchange data with others before they depend on it.
#pragma once

#include "actors/interfaces.hpp"

#include <chrono>
#include <functional>
#include <string_view>
#include <vector>

namespace troupe::actors {

/// BrokenLink::why if the node that should try the link has not answered the order.
inline constexpr std::string_view no_answer = "it has not answered";

struct LinkEnd {
  NodePort port;
  member_actor node;
};

/// Orders the node to dial the data ports of all others, and each of them to dial its port, with a
/// ticket for only this proof. Calls `done` once with the broken links. If a node does not answer
/// within the limit and 3 s, all its links count as broken (`no_answer`). Error: internal, if the
/// system gives no random bytes for a ticket.
Status prove_links(membership_actor::pointer self, const LinkEnd& node,
                   const std::vector<LinkEnd>& others, std::chrono::milliseconds limit,
                   std::function<void(std::vector<BrokenLink>)> done);

} // namespace troupe::actors
