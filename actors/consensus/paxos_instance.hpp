/// One decision among a few voters. Any of them may fail, and messages may be lost, repeated and
/// late: single-decree Paxos (L. Lamport, "Paxos Made Simple", 2001, section 2). A class without
/// actors, clocks or files: the promises and acceptances of one voter, and its own proposal.
#pragma once

#include "actors/membership/quorum.hpp"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace troupe::actors {

/// With n voters, ballot b belongs to voter b % n. Ballot 0, which belongs to voter 0, needs no
/// promises, because no ballot is lower.
using Ballot = std::int64_t;

/// Above it, no ballot is granted or accepted: a peer's corrupted message must not use them up.
inline constexpr Ballot highest_ballot = Ballot{1} << 48;

template <class Value>
struct Proposal {
  Ballot ballot = 0;
  Value value = {};

  auto operator<=>(const Proposal&) const = default; ///< for tests, whose values have an order
  auto fields() { return std::tie(ballot, value); }
};

/// A voter's answer to a request for a promise.
template <class Value>
struct Promise {
  Ballot ballot = 0; ///< below it, the voter accepts nothing
  bool is_granted = false;
  std::optional<Proposal<Value>> accepted = {};

  auto operator<=>(const Promise&) const = default;
  auto fields() { return std::tie(ballot, is_granted, accepted); }
};

template <class Value>
class PaxosInstance {
public:
  /// Precondition: self < voters.
  PaxosInstance(std::size_t voters, std::size_t self) : voters_{voters}, self_{self} {}

  /// Answers a request for a promise. Grants each ballot at most once.
  Promise<Value> promise(Ballot ballot) {
    const bool is_granted = ballot > promised_ && ballot <= highest_ballot;
    if (is_granted)
      promised_ = ballot;
    return {promised_, is_granted, accepted_};
  }

  /// Answers a request to accept. Returns the proposal's ballot if this voter has accepted it, else
  /// the higher ballot that it has promised.
  Ballot accept(const Proposal<Value>& proposal) {
    if (proposal.ballot >= promised_ && proposal.ballot <= highest_ballot) {
      promised_ = proposal.ballot;
      accepted_ = proposal;
    }
    return promised_;
  }

  /// Begins a ballot of this voter, above all that it has promised or begun, and above `heard`, the
  /// highest in other voters' answers. Returns its number.
  Ballot campaign(Ballot heard = 0) {
    const auto count = static_cast<Ballot>(voters_);
    const auto above =
        std::max({promised_, ballot_.value_or(0), std::min(heard, highest_ballot)}) + 1;
    const auto rest = (static_cast<Ballot>(self_) - above % count + count) % count;
    begin(above + rest);
    note(self_, promise(*ballot_));
    return *ballot_;
  }

  /// Voter 0 begins its first ballot.
  void begin_first() { begin(0); }

  /// Counts a voter's answer to this voter's campaign.
  void note(std::size_t voter, const Promise<Value>& promise) {
    if (!promise.is_granted || ballot_ != promise.ballot || proposed_)
      return; // refused, or late
    promises_.insert(voter);
    if (promise.accepted && (!bound_ || bound_->ballot < promise.accepted->ballot))
      bound_ = promise.accepted;
  }

  /// The last ballot that this voter has begun; empty: none.
  const std::optional<Ballot>& ballot() const { return ballot_; }
  bool may_propose() const { return ballot_ && (ballot_ == 0 || is_quorum(promises_, voters_)); }
  /// A value that an earlier ballot may have decided, so that this one must propose it; null: any.
  const Value* bound() const { return bound_ ? &bound_->value : nullptr; }
  /// The proposal of this ballot; empty: none yet.
  const std::optional<Proposal<Value>>& proposed() const { return proposed_; }

  /// Proposes the value, unless this ballot is bound to another, or has a proposal already. Returns
  /// the proposal to send to all voters. Precondition: may_propose().
  const Proposal<Value>& propose(Value value) {
    if (!proposed_) {
      proposed_ = {*ballot_, bound_ ? bound_->value : std::move(value)};
      note(self_, accept(*proposed_));
    }
    return *proposed_;
  }

  /// Counts a voter's answer to this voter's proposal.
  void note(std::size_t voter, Ballot accepted) {
    if (proposed_ && proposed_->ballot == accepted)
      acceptances_.insert(voter);
  }

  /// Forgets that a voter has accepted; allowed at any time. Its vote counts again when it answers
  /// again.
  void forget_acceptance(std::size_t voter) { acceptances_.erase(voter); }

  /// The decided value, which never changes; null: not known to be decided.
  const Value* decided() const {
    return proposed_ && is_quorum(acceptances_, voters_) ? &proposed_->value : nullptr;
  }

  /// The decided value if the voters in `gone` are lost for good; null: not known to be decided.
  /// All others have accepted it, and are too few to decide anything else by themselves.
  const Value* decided_without(const std::set<std::size_t>& gone) const {
    std::set<std::size_t> left;
    for (std::size_t voter = 0; voter < voters_; ++voter)
      if (!gone.contains(voter))
        left.insert(voter);
    const bool have_accepted = std::ranges::includes(acceptances_, left);
    return proposed_ && have_accepted && !is_quorum(left, voters_) ? &proposed_->value : nullptr;
  }

  bool operator==(const PaxosInstance&) const = default;

private:
  void begin(Ballot ballot) {
    ballot_ = ballot;
    promises_.clear();
    acceptances_.clear();
    bound_.reset();
    proposed_.reset();
  }

  std::size_t voters_, self_;
  Ballot promised_ = 0;
  std::optional<Proposal<Value>> accepted_;
  // The ballot that this voter has begun.
  std::optional<Ballot> ballot_;
  std::set<std::size_t> promises_, acceptances_;
  std::optional<Proposal<Value>> bound_, proposed_;
};

} // namespace troupe::actors
