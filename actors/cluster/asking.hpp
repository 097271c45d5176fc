/// What a daemon asks another one of which it knows the address alone. Blocking calls.
#pragma once

#include "joining.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace troupe::actors {

/// What a daemon says of its job.
struct Answer {
  std::optional<JobPlace> job = {}; ///< none: there is none to take part in, or not yet
  Error why = {};                   ///< there is none; stopped: it has ended, and had not failed
  bool is_busy = false;             ///< it takes part in one whose leader cannot be asked
  bool has_ended = false;           ///< it took part in one
  std::string begins = {};          ///< the node that is to begin one, as this daemon has it
  engine::GenerationRecord last = {.number = 0}; ///< of the job that it took part in; 0: none
};

/// By a connection to the daemon, and one to the node that leads its job. A leader that is this
/// node itself leads nothing. Errors: as ask_for_job.
Result<Answer> ask_about_job(const Applicant& applicant, const std::string& address);

/// The MEMBERSHIP of its job, by a connection to the daemon that leads. Errors: network where it is
/// worth trying again, because nothing listens there or the daemon has no job yet; invalid_input
/// for what time does not mend: another version, a certificate that is not trusted; stopped: its
/// job has ended, and had not failed.
Result<JobPlace> ask_for_job(const Applicant& applicant, const std::string& address);

/// Whether a daemon that does not say of a job may yet take part in deciding on one: it is the same
/// process as then, or does not say so. Its host knows if nothing listens there.
bool may_go_on(const Applicant& applicant, const engine::Voter& voter);

/// Where nodes come together, and after which generation. No leader: nobody knows yet.
struct Succession {
  std::string leader; ///< its address
  engine::GenerationRecord last;
};

/// This daemon's own VOTER, which takes a moment where it does not know who leads after that
/// generation; below 0: who leads now. Error: stopped, the job has ended.
Result<Succession> ask_voter(const Applicant& applicant, std::int64_t generation);

} // namespace troupe::actors
