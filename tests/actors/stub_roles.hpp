/// Stubs for the neighbours of a role under test: actors with a role's interface that run the
/// handlers of the test and nothing else.
#pragma once

#include "actors/interfaces.hpp"

#include <caf/all.hpp>

#include <type_traits>
#include <utility>

namespace troupe::actors::test {

/// Whether the message that a handler takes belongs to a role's interface.
template <class Handle, class Handler>
inline constexpr bool has_message_for = false;

template <class... Messages, class Handler>
inline constexpr bool has_message_for<caf::typed_actor<Messages...>, Handler> =
    (has_message_for<Messages, decltype(&Handler::operator())> || ...);

template <class Result, class... Parameters, class Class, class Answer, class... Arguments>
inline constexpr bool
    has_message_for<Result(Parameters...), Answer (Class::*)(Arguments...) const> =
        std::is_same_v<caf::detail::type_list<Parameters...>,
                       caf::detail::type_list<std::remove_cvref_t<Arguments>...>>;

/// Spawns a stub of a role: it runs the handlers that the test gives and drops all other messages.
/// It ends with its actor system, or on an exit message.
template <class Handle, class... Handlers>
Handle spawn_stub(caf::actor_system& system, Handlers... handlers) {
  static_assert((has_message_for<Handle, Handlers> && ...), "the role has no such message");
  return caf::actor_cast<Handle>(system.spawn([handlers...](
                                                  caf::event_based_actor* self) -> caf::behavior {
    self->set_default_handler([](caf::scheduled_actor*, caf::message&) -> caf::skippable_result {
      return caf::message{};
    });
    // An actor without handlers would terminate.
    return {handlers..., [](caf::ok_atom) {}};
  }));
}

} // namespace troupe::actors::test
