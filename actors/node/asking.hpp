/// Questions to a daemon that is known only by its address. Blocking calls.
#pragma once

#include "actors/node/joining.hpp"

#include <optional>
#include <string>

namespace troupe::actors {

/// A daemon's answer about its job.
struct Answer {
  std::optional<JobHandle> job = {}; ///< none: it has no job that this node can join yet
  Error why = {};          ///< why it has no job; stopped: the job has ended without a failure
  bool is_busy = false;    ///< it takes part in a job whose leader does not answer
  bool has_ended = false;  ///< it took part in a job that has ended
  std::string begins = {}; ///< the node that it expects to begin a job
  training::GenerationRecord last = {.number = 0}; ///< of its job; 0: none
};

/// Asks the daemon, and then the node that it names as its leader. If it names this node, the
/// answer has no job, because this node leads none. Errors: as ask_for_job.
Result<Answer> ask_about_job(const JoinContext& context, const std::string& address);

/// Returns the MEMBERSHIP of the daemon's job, through a connection to the leader. Errors: network
/// if another attempt may succeed: nothing listens there, or the daemon has no job yet;
/// invalid_input if it cannot: another version, a certificate that is not trusted; stopped: its job
/// has ended without a failure.
Result<JobHandle> ask_for_job(const JoinContext& context, const std::string& address);

/// Whether this voter may still decide, though its daemon has reported no job: it is the same
/// process, or does not answer. False if nothing listens there, or another process does.
bool may_go_on(const JoinContext& context, const training::Voter& voter);

/// The node at which others gather, and after which generation. Empty leader: not known yet.
struct Succession {
  std::string leader; ///< its address
  training::GenerationRecord last;
};

/// Asks this daemon's CONSENSUS which node leads after that generation; below 0: which leads now.
/// Waits at most 0.5 s for the answer to be known. Error: stopped, the job has ended.
Result<Succession> ask_consensus(const JoinContext& context, std::int64_t generation);

} // namespace troupe::actors
