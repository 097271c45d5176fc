/// Proposals of CONSENSUS actors, and their answers to each other.
#pragma once

#include "actors/consensus/paxos_instance.hpp"
#include "training/node_assignment.hpp"

#include <optional>

namespace troupe::actors {

using RecordProposal = Proposal<training::GenerationRecord>;

struct VoteReply {
  Promise<training::GenerationRecord> promise;
  /// A decided record, if it is later than the one in the request.
  std::optional<training::GenerationRecord> newer = {};

  template <class Inspector>
  friend bool inspect(Inspector& f, VoteReply& x) {
    return f.object(x).fields(f.field("promise", x.promise), f.field("newer", x.newer));
  }
};

} // namespace troupe::actors
