/// How an actor learns what its device has done.
#pragma once

#include "actors/interfaces.hpp"

#include <memory>
#include <utility>

namespace troupe::actors {

/// Tells a SHARD MANAGER when the stream has come this far, or that it has failed. Until then the
/// stream keeps what it writes: the actor may die before.
template <class Atom>
void announce(const shard_manager_actor& to, Stream& stream, Atom atom, std::int64_t step,
              std::shared_ptr<const void> written) {
  stream.on_complete([to, atom, step, written = std::move(written)](const Status& status) mutable {
    written.reset(); // so that a piece that nobody reads is found to be free
    if (status)
      caf::anon_send(to, atom, step);
    else
      caf::anon_send(to, atom::failed_v, status.error());
  });
}

} // namespace troupe::actors
