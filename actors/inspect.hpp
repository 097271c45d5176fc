/// Lets CAF send every struct that lists its fields. Daemons of the same version list them in the
/// same order.
#pragma once

#include "metrics/records/field.hpp"

#include <caf/inspector_access.hpp>
#include <caf/inspector_access_base.hpp>

#include <cstdint>
#include <tuple>

namespace troupe::actors {

/// Has a member `auto fields() { return std::tie(...); }`.
template <class Struct>
concept ListsFields = requires(Struct& x) {
  x.fields();
};

/// Has a free function `fields` in its namespace, which returns the same.
template <class Struct>
concept HasListOfFields = requires(Struct& x) {
  fields(x);
};

/// Returns references to the fields; for a record (metrics/records/), to all fields of its table.
template <class Struct>
auto sent_fields(Struct& x) {
  if constexpr (ListsFields<Struct>)
    return x.fields();
  else if constexpr (HasListOfFields<Struct>)
    return fields(x);
  else
    return std::apply([&x](const auto&... each) { return std::tie(x.*each.member...); },
                      metrics::fields_of<Struct>);
}

template <class Struct>
concept Sent = ListsFields<Struct> || HasListOfFields<Struct> || metrics::HasFields<Struct>;

/// Sends an enum as its number. Numbers above that of `last` are refused.
template <class Inspector, class Enum>
bool inspect_enum(Inspector& f, Enum& x, Enum last) {
  auto get = [&x] { return static_cast<std::uint8_t>(x); };
  auto set = [&x, last](std::uint8_t value) {
    x = static_cast<Enum>(value);
    return x <= last;
  };
  return f.apply(get, set);
}

} // namespace troupe::actors

template <troupe::actors::Sent Struct>
struct caf::inspector_access<Struct> : inspector_access_base<Struct> {
  template <class Inspector>
  static bool apply(Inspector& f, Struct& x) {
    // CAF uses no names of fields, neither in what it sends nor in the texts of messages.
    return std::apply([&](auto&... each) { return f.object(x).fields(f.field("", each)...); },
                      troupe::actors::sent_fields(x));
  }
};
