/// Returns how long messages wait, by role: the sums of CAF's counters over all actors of the role.
#pragma once

#include "metrics/registry/registry.hpp"

#include <caf/actor_system.hpp>

#include <vector>

namespace troupe::actors {

std::vector<metrics::MailboxSample> sample_mailboxes(caf::actor_system& system);

} // namespace troupe::actors
