/// Lets a task or a stream on another thread continue in an actor.
#pragma once

#include "actors/interfaces.hpp"

#include <memory>
#include <utility>

namespace troupe::actors {

/// Has the actor call `then`, which may use its state; not if it has ended. Any thread. `then` must
/// not own promises: they may be destroyed on their actor's thread only.
inline void resume_in(const resumed_actor& actor, FollowUp then) {
  caf::anon_send(actor, atom::done_v, std::make_shared<const FollowUp>(std::move(then)));
}

} // namespace troupe::actors
