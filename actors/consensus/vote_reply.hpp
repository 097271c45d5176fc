/// Proposals of CONSENSUS actors, and their answers to each other.
#pragma once

#include "actors/consensus/paxos_instance.hpp"
#include "training/node_assignment.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <tuple>

namespace troupe::actors {

using RecordProposal = Proposal<training::GenerationRecord>;

/// Returns the index of a process among a record's voters; empty: it has no vote.
inline std::optional<std::size_t> vote_of(const training::Voter& process,
                                          const training::GenerationRecord& record) {
  const auto vote = std::ranges::find(record.voters, process);
  if (vote == record.voters.end())
    return std::nullopt;
  return static_cast<std::size_t>(vote - record.voters.begin());
}

struct VoteReply {
  Promise<training::GenerationRecord> promise;
  /// A decided record, if it is later than the one in the request.
  std::optional<training::GenerationRecord> newer = {};

  auto fields() { return std::tie(promise, newer); }
};

} // namespace troupe::actors
