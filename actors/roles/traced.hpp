/// Behaviors whose handlers appear in the timeline, named after the message's atom.
#pragma once

#include "metrics/trace.hpp"
#include "training/trace_rows.hpp"

#include <caf/all.hpp>

#include <string_view>
#include <utility>

namespace troupe::actors {

/// "advance" for troupe::atom::advance.
template <class Atom>
std::string_view message_name() {
  const auto& name = caf::type_name<Atom>::value; // of CAF's own class before 0.19
  const std::string_view full{name.data(), name.size()};
  return full.substr(full.rfind(':') + 1);
}

/// A handler, and the row of its actor.
template <class Handler, class Signature = decltype(&Handler::operator())>
struct TracedHandler;

template <class Handler, class Class, class Result, class Atom, class... Arguments>
struct TracedHandler<Handler, Result (Class::*)(Atom, Arguments...) const> {
  Result operator()(Atom atom, Arguments... arguments) const {
    const auto span =
        track.span({metrics::SpanKind::handler, message_name<std::remove_cvref_t<Atom>>()});
    return handler(atom, std::forward<Arguments>(arguments)...);
  }

  metrics::Track track;
  Handler handler;
};

/// Returns the behavior of these handlers, each of which takes an atom first.
template <class Handle, class... Handlers>
typename Handle::behavior_type traced(const metrics::Track& track, Handlers... handlers) {
  return {TracedHandler<Handlers>{track, std::move(handlers)}...};
}

} // namespace troupe::actors
