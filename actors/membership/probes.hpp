/// Probes of links between the data ports of nodes.
#pragma once

#include "actors/membership/actions.hpp"
#include "actors/membership/job_state.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace troupe::actors {

/// BrokenLink::why if the node that should try the link has not answered the order.
inline constexpr std::string_view no_answer = "it has not answered";

/// Gives nodes their orders, and collects their answers. A probe is over when all have answered, or
/// have had the time to.
class Probes {
public:
  struct Outcome {
    std::int64_t probe;
    std::vector<BrokenLink> broken; ///< as reported by the nodes that answered
    std::vector<BrokenLink> silent; ///< the links of the others (no_answer)
  };

  Probes(const JobState& job, Actions& actions) : job_{job}, actions_{actions} {}

  /// All functions return the number of the probe, which is never 0.

  /// The node dials all others, and each of them dials the node. Error: internal, if there is no
  /// secret for a ticket, which is valid for only this probe.
  Result<std::int64_t> of_entrant(const LinkEnd& node, const std::vector<LinkEnd>& others);
  /// All nodes dial each other. Without a ticket, no link is reported as broken.
  std::int64_t of_all(const std::vector<LinkEnd>& nodes);
  /// Asks whether a node still answers. Its link to itself is broken if it does not.
  std::int64_t of_answer(const LinkEnd& node);

  /// Notes a node's answer. `broken`: none if the node has not answered in time.
  void note(std::int64_t probe, NodeId node, const std::optional<std::vector<BrokenLink>>& broken);
  bool has_finished() const;
  /// Returns the outcome of a probe that is over, once.
  std::optional<Outcome> take_finished();

private:
  struct Probe {
    std::map<NodeId, std::vector<BrokenLink>> open = {}; ///< by node: its links, as if all broken
    Outcome outcome;
  };

  Probe& begin();
  void order(Probe& probe, const LinkEnd& node, ProbeOrder order, std::chrono::milliseconds limit);

  const JobState& job_;
  Actions& actions_;
  std::map<std::int64_t, Probe> probes_ = {};
  std::int64_t last_ = 0;
};

} // namespace troupe::actors
