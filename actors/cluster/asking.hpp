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

/// Whether a daemon that does not say of a job may yet take part in deciding on one: it cannot be
/// asked, or is the same process as then.
bool may_go_on(const Applicant& applicant, const engine::Voter& voter);

} // namespace troupe::actors
