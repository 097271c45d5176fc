/// Links between the data planes of nodes: which ones to try, and which are broken.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace troupe::actors {

/// A node, and its data port.
struct NodePort {
  std::string node; ///< HOST:PORT of its daemon, which is its name
  std::string data; ///< HOST:PORT of its data plane

  auto fields() { return std::tie(node, data); }
};

/// Orders a node to try these links, and to answer others' attempts with the same ticket.
struct ProbeOrder {
  std::string ticket; ///< random, for only this order; never a job's secret
  std::vector<NodePort> to;
  std::int64_t limit_ms = 0; ///< for each link; others' attempts are answered for as long

  auto fields() { return std::tie(ticket, to, limit_ms); }
};

/// A link that could not be made.
struct BrokenLink {
  std::string from, to; ///< names of nodes
  std::string why;

  bool operator==(const BrokenLink&) const = default;
  auto fields() { return std::tie(from, to, why); }
};

} // namespace troupe::actors
