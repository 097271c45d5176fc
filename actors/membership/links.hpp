/// Links between the data planes of nodes: which ones to try, and which are broken.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::actors {

/// A node, and its data port.
struct NodePort {
  std::string node; ///< HOST:PORT of its daemon, which is its name
  std::string data; ///< HOST:PORT of its data plane

  template <class Inspector>
  friend bool inspect(Inspector& f, NodePort& x) {
    return f.object(x).fields(f.field("node", x.node), f.field("data", x.data));
  }
};

/// Orders a node to try these links, and to answer others' attempts with the same ticket.
struct ProbeOrder {
  std::string ticket; ///< random, for only this order; never a job's secret
  std::vector<NodePort> to;
  std::int64_t limit_ms = 0; ///< for each link; others' attempts are answered for as long

  template <class Inspector>
  friend bool inspect(Inspector& f, ProbeOrder& x) {
    return f.object(x).fields(f.field("ticket", x.ticket), f.field("to", x.to),
                              f.field("limit_ms", x.limit_ms));
  }
};

/// A link that could not be made.
struct BrokenLink {
  std::string from, to; ///< names of nodes
  std::string why;

  bool operator==(const BrokenLink&) const = default;
  template <class Inspector>
  friend bool inspect(Inspector& f, BrokenLink& x) {
    return f.object(x).fields(f.field("from", x.from), f.field("to", x.to), f.field("why", x.why));
  }
};

} // namespace troupe::actors
