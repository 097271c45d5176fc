/// Delivers point-to-point messages to an actor.
#pragma once

#include "actors/interfaces.hpp"
#include "collectives/point_to_point/point_to_point.hpp"
#include "training/strategies/async/messages.hpp"

#include <utility>

namespace troupe::actors {

/// Subscribes a SHARD MANAGER to the messages for its rank, and to the loss of other ranks.
inline void subscribe(collectives::PointToPoint& point_to_point, Device& device, int rank,
                      const shard_manager_actor& me) {
  point_to_point.subscribe(
      rank, {.deliver =
                 [me](const collectives::MessagePtr& message) {
                   caf::anon_send(me, atom::deliver_v, message);
                 },
             .memory =
                 [&device](std::size_t bytes) {
                   return device.allocate(bytes, collectives::message_memory(device));
                 },
             .lost =
                 [me](int, Error why) {
                   why.code = Errc::collective; // as for a collective: another rank is lost
                   caf::anon_send(me, atom::failed_v, std::move(why));
                 }});
}

} // namespace troupe::actors
