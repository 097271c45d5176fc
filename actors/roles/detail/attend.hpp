/// How mail between ranks comes to an actor.
#pragma once

#include "actors/interfaces.hpp"
#include "collectives/post/post.hpp"
#include "engine/asynchronous/letters.hpp"

#include <utility>

namespace troupe::actors {

/// From now on a SHARD MANAGER is sent its rank's mail, and what becomes of the others.
inline void attend(collectives::Post& post, Device& device, int rank,
                   const shard_manager_actor& me) {
  post.attend(rank, {.deliver =
                         [me](const collectives::MailPtr& mail) {
                           caf::anon_send(me, atom::deliver_v, mail);
                         },
                     .memory =
                         [&device](std::size_t bytes) {
                           return device.allocate(bytes, engine::mail_memory(device));
                         },
                     .lost =
                         [me](int, Error why) {
                           why.code = Errc::collective; // as where ranks meet: somebody is gone
                           caf::anon_send(me, atom::failed_v, std::move(why));
                         }});
}

} // namespace troupe::actors
