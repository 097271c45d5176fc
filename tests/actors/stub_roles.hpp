/// Neighbours of the role that a test looks at: actors of any role's interface that do what the
/// test says, and nothing else.
#pragma once

#include "actors/interfaces.hpp"

#include <caf/all.hpp>

#include <type_traits>
#include <utility>

namespace troupe::actors::test {

/// Whether one of a role's messages is what a handler takes.
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

/// Plays a role: runs the handler of each message that the test gives one for, and drops the
/// others. Ends with its system, or when it is told to.
template <class Handle, class... Handlers>
Handle spawn_stub(caf::actor_system& system, Handlers... handlers) {
  static_assert((has_message_for<Handle, Handlers> && ...), "the role has no such message");
  return caf::actor_cast<Handle>(system.spawn([handlers...](
                                                  caf::event_based_actor* self) -> caf::behavior {
    self->set_default_handler([](caf::scheduled_actor*, caf::message&) -> caf::skippable_result {
      return caf::message{};
    });
    // An actor without any handler would end.
    return {handlers..., [](caf::ok_atom) {}};
  }));
}

} // namespace troupe::actors::test
