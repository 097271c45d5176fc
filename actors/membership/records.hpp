/// The records of a job's generations, until they are decided.
#pragma once

#include "actors/membership/participants.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace troupe::actors {

/// A record that the voters decide: of the next generation, or a revision of the last record, for
/// which no node halts. Only one at a time, because the voters of each decide the next.
struct PendingRecord {
  training::GenerationRecord record;
  bool is_revision = false;
};

class Records {
public:
  Records(const JobState& job, Participants& participants, Actions& actions)
      : job_{job}, participants_{participants}, actions_{actions} {}

  // Why the nodes join again, for the next record.

  /// The first loss counts, even after a halt for another reason.
  void note_loss(const std::string& reason, std::chrono::milliseconds detected_after);
  void note_change(const std::string& reason) { change_ = {.reason = reason}; }
  void add_reason(const std::string& text) { change_.reason += text; }
  void succeed(const Error& lost);
  /// The nodes halt from now on.
  void begin_change() { changing_ = job_.now; }

  /// Proposes the record of the next generation, with the present members. Error: internal, if
  /// there is no secret for it.
  Status propose_next();
  /// Proposes a revision while nodes connect or train, if the voters or spares have changed; or, at
  /// any time, for the end of the job.
  void revise(const JobEnd* end);
  bool is_pending() const { return proposal_.has_value(); }
  /// Whether the next generation is proposed with this node.
  bool proposes(const std::string& address) const;
  /// Ends the proposal. Precondition: one is pending.
  PendingRecord take();
  /// It is not proposed again: another node leads the job.
  void refuse_revision(const training::GenerationRecord& record) { refused_ = record; }
  /// Gives the members their assignments in the last record.
  void assign();
  /// Sends the last record to spares and witnesses, and to members.
  void tell_waiting();
  void tell_members();

private:
  bool may_revise(const JobEnd* end) const;
  bool is_revised(const training::GenerationRecord& record) const;
  Result<training::GenerationRecord> next_record();
  std::int64_t next_number() const;

  const JobState& job_;
  Participants& participants_;
  Actions& actions_;
  std::optional<PendingRecord> proposal_ = {};
  std::optional<training::GenerationRecord> refused_ = {}; ///< revision that was refused last
  training::MembershipChange change_ = {};                 ///< empty reason: the job begins
  Time changing_ = {};                                     ///< since when the nodes halt
  training::SharedFolder shared_ = {};                     ///< of the proposed or last generation
  std::string writer_ = {}; ///< GenerationRecord::writer of this leader, once it has proposed one
};

} // namespace troupe::actors
