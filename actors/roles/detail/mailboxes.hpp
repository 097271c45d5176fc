/// How long messages wait: CAF counts it for every actor, we add it up by role.
#pragma once

#include "metrics/registry/registry.hpp"

#include <caf/actor_system.hpp>

#include <vector>

namespace troupe::actors {

std::vector<metrics::MailboxSample> sample_mailboxes(caf::actor_system& system);

} // namespace troupe::actors
