/// Proves that a node can exchange data with others before they depend on it.
#pragma once

#include "../interfaces.hpp"

#include <chrono>
#include <functional>
#include <string_view>
#include <vector>

namespace troupe::actors {

/// Of a link whose node has not answered the order.
inline constexpr std::string_view no_answer = "it has not answered";

struct LinkEnd {
  NodePort port;
  member_actor node;
};

/// Has the node dial the data ports of all the others, and each of them its own, with a ticket that
/// is made for this, and calls `done` once with the links that are broken. A node that does not
/// answer within the limit and a moment more has no working link (`no_answer`). Error: internal,
/// where the system gives no random bytes for a ticket.
Status prove_links(membership_actor::pointer self, const LinkEnd& node,
                   const std::vector<LinkEnd>& others, std::chrono::milliseconds limit,
                   std::function<void(std::vector<BrokenLink>)> done);

} // namespace troupe::actors
