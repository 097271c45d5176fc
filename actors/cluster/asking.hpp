/// What a daemon asks another one of which it knows the address alone. Blocking calls.
#pragma once

#include "joining.hpp"

#include <chrono>
#include <string>

namespace troupe::actors {

/// Between attempts to reach a daemon that is not there yet.
inline constexpr std::chrono::milliseconds pause_between_attempts{250};

/// The MEMBERSHIP of its job, by a connection to the daemon that leads. Errors: network where it is
/// worth trying again, because nothing listens there or the daemon has no job yet; invalid_input
/// for what time does not mend: another version, a certificate refused.
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
