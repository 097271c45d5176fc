/// Messages to an actor about the progress of its device.
#pragma once

#include "actors/interfaces.hpp"

#include <memory>
#include <utility>

namespace troupe::actors {

/// Sends a SHARD MANAGER this message when the stream has come this far, or `failed` if the stream
/// has failed. The stream keeps `written` alive until then, because the actor may end before.
template <class Atom>
void announce(const shard_manager_actor& to, Stream& stream, Atom atom, std::int64_t step,
              std::shared_ptr<const void> written) {
  stream.on_complete([to, atom, step, written = std::move(written)](const Status& status) mutable {
    written.reset(); // so that its memory can be reused
    if (status)
      caf::anon_send(to, atom, step);
    else
      caf::anon_send(to, atom::failed_v, status.error());
  });
}

} // namespace troupe::actors
