/// What VOTERs decide, and what they answer each other.
#pragma once

#include "decree.hpp"

#include "troupe/engine/seat.hpp"

#include <optional>

namespace troupe::actors {

using RecordProposal = Proposal<engine::GenerationRecord>;

struct Consent {
  Promise<engine::GenerationRecord> promise;
  /// Where it is later than the one that was asked of: what has been decided already.
  std::optional<engine::GenerationRecord> newer = {};

  template <class Inspector>
  friend bool inspect(Inspector& f, Consent& x) {
    return f.object(x).fields(f.field("promise", x.promise), f.field("newer", x.newer));
  }
};

} // namespace troupe::actors
