/// Proposals of VOTERs, and their answers to each other.
#pragma once

#include "actors/cluster/decree.hpp"
#include "engine/seat.hpp"

#include <optional>

namespace troupe::actors {

using RecordProposal = Proposal<engine::GenerationRecord>;

struct Consent {
  Promise<engine::GenerationRecord> promise;
  /// A decided record, if it is later than the one in the request.
  std::optional<engine::GenerationRecord> newer = {};

  template <class Inspector>
  friend bool inspect(Inspector& f, Consent& x) {
    return f.object(x).fields(f.field("promise", x.promise), f.field("newer", x.newer));
  }
};

} // namespace troupe::actors
