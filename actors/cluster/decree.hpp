/// One decision among a few voters, of which any may fail, and whose messages may be lost, repeated
/// and late: single-decree Paxos (L. Lamport, "Paxos Made Simple", 2001, section 2). A class
/// without actors, clocks or files: what one voter has promised and accepted, and what it asks of
/// others.
#pragma once

#include "quorum.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace troupe::actors {

/// Of n voters, ballot b is voter b % n's. Ballot 0, voter 0's, needs no promises: there is none
/// before it.
using Ballot = std::int64_t;

template <class Value>
struct Proposal {
  Ballot ballot = 0;
  Value value = {};

  bool operator==(const Proposal&) const = default;
  bool operator<(const Proposal& other) const {
    return std::tie(ballot, value) < std::tie(other.ballot, other.value);
  }

  template <class Inspector>
  friend bool inspect(Inspector& f, Proposal& x) {
    return f.object(x).fields(f.field("ballot", x.ballot), f.field("value", x.value));
  }
};

/// What a voter answers to who wants to propose.
template <class Value>
struct Promise {
  Ballot ballot = 0; ///< below it, the voter accepts nothing
  bool is_granted = false;
  std::optional<Proposal<Value>> accepted = {};

  bool operator==(const Promise&) const = default;
  bool operator<(const Promise& other) const {
    return std::tie(ballot, is_granted, accepted) <
           std::tie(other.ballot, other.is_granted, other.accepted);
  }

  template <class Inspector>
  friend bool inspect(Inspector& f, Promise& x) {
    return f.object(x).fields(f.field("ballot", x.ballot), f.field("is_granted", x.is_granted),
                              f.field("accepted", x.accepted));
  }
};

template <class Value>
class Decree {
public:
  /// Precondition: self < voters.
  Decree(std::size_t voters, std::size_t self) : voters_{voters}, self_{self} {}

  /// This voter is asked to promise, which it does once for each ballot.
  Promise<Value> promise(Ballot ballot) {
    const bool is_higher = ballot > promised_;
    promised_ = std::max(promised_, ballot);
    return {promised_, is_higher, accepted_};
  }

  /// This voter is asked to accept. It has where the answer is the proposal's ballot; else it has
  /// promised that one.
  Ballot accept(const Proposal<Value>& proposal) {
    if (proposal.ballot >= promised_) {
      promised_ = proposal.ballot;
      accepted_ = proposal;
    }
    return promised_;
  }

  /// This voter wants to propose: begins a ballot of its own, above all that it knows of.
  Ballot campaign() {
    const auto count = static_cast<Ballot>(voters_);
    const auto above = std::max(promised_, ballot_.value_or(0)) + 1;
    const auto rest = (static_cast<Ballot>(self_) - above % count + count) % count;
    begin(above + rest);
    note(self_, promise(*ballot_));
    return *ballot_;
  }

  /// Voter 0 begins its first ballot.
  void begin_first() { begin(0); }

  /// What a voter answered to this one's campaign.
  void note(std::size_t voter, const Promise<Value>& promise) {
    if (!promise.is_granted || ballot_ != promise.ballot || proposed_)
      return; // or it comes late
    promises_.insert(voter);
    if (promise.accepted && (!bound_ || bound_->ballot < promise.accepted->ballot))
      bound_ = promise.accepted;
  }

  /// That it has begun; empty: none.
  const std::optional<Ballot>& ballot() const { return ballot_; }
  bool may_propose() const { return ballot_ && (ballot_ == 0 || is_quorum(promises_, voters_)); }
  /// What an earlier ballot may have decided, and this one has to propose; null: it is free.
  const Value* bound() const { return bound_ ? &bound_->value : nullptr; }
  /// Of this ballot; empty: nothing yet.
  const std::optional<Proposal<Value>>& proposed() const { return proposed_; }

  /// Proposes the value, unless it is bound to another, or has proposed already. The answer is for
  /// all voters. Precondition: may_propose().
  const Proposal<Value>& propose(Value value) {
    if (!proposed_) {
      proposed_ = {*ballot_, bound_ ? bound_->value : std::move(value)};
      note(self_, accept(*proposed_));
    }
    return *proposed_;
  }

  /// What a voter answered to this one's proposal.
  void note(std::size_t voter, Ballot accepted) {
    if (proposed_ && proposed_->ballot == accepted)
      acceptances_.insert(voter);
  }

  /// What all will ever find to be decided; null: this voter does not know of it.
  const Value* decided() const {
    return proposed_ && is_quorum(acceptances_, voters_) ? &proposed_->value : nullptr;
  }

  /// The same if these voters are gone for good: all others have accepted it, and are too few to
  /// decide anything else by themselves.
  const Value* decided_without(const std::set<std::size_t>& gone) const {
    std::set<std::size_t> left;
    for (std::size_t voter = 0; voter < voters_; ++voter)
      if (!gone.contains(voter))
        left.insert(voter);
    const bool have_accepted = std::ranges::includes(acceptances_, left);
    return proposed_ && have_accepted && !is_quorum(left, voters_) ? &proposed_->value : nullptr;
  }

  bool operator==(const Decree&) const = default;

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
  // Its own proposal.
  std::optional<Ballot> ballot_;
  std::set<std::size_t> promises_, acceptances_;
  std::optional<Proposal<Value>> bound_, proposed_;
};

} // namespace troupe::actors
