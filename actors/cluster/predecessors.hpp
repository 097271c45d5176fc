/// Whether others go on with a job that this daemon would begin.
#pragma once

#include "joining.hpp"
#include "members_file.hpp"

#include <optional>

namespace troupe::actors {

/// Whether the node of this address is to begin a job where others go on with none: it was told of
/// no others, or of several, itself first.
bool may_begin(const ClusterConfig& cluster, const std::string& address);

/// The job that those go on with whom this node trained with before, or whom it was told to join.
/// Empty: this node may begin one. None that answers has a job, all have this node begin it, and
/// most nodes of cluster.join do (or half with this one); those that do not answer are too few to
/// go on by themselves. Blocks, and asks until the quorum timeout. Errors: network, where they may
/// go on and cannot be asked; stopped.
/// What others know of later generations counts more than `before`.
Result<std::optional<JobPlace>> find_running_job(const Applicant& applicant, Members before);

} // namespace troupe::actors
