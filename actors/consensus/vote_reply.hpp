/// Proposals of CONSENSUS actors, and their answers to each other.
#pragma once

#include "actors/consensus/paxos_instance.hpp"
#include "training/node_assignment.hpp"

#include <optional>
#include <tuple>

namespace troupe::actors {

using RecordProposal = Proposal<training::GenerationRecord>;

struct VoteReply {
  Promise<training::GenerationRecord> promise;
  /// A decided record, if it is later than the one in the request.
  std::optional<training::GenerationRecord> newer = {};

  auto fields() { return std::tie(promise, newer); }
};

} // namespace troupe::actors
