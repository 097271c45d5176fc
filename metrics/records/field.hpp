/// The table of a record's fields. A field is declared once: as a member of the record, with a line
/// in the table. Files (report/detail/), Prometheus (registry/), TensorBoard (tensorboard/) and
/// messages between processes follow the table.
#pragma once

#include "metrics/metric_name.hpp"

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace troupe::metrics {

/// How a field is written while its value is empty: an optional without a value, an empty text or
/// list, or zero.
enum class IfEmpty : std::uint8_t {
  write, ///< like other values; an optional without a value as null
  null,  ///< as null
  omit   ///< not at all, and not exported
};

struct FieldTraits {
  IfEmpty if_empty = IfEmpty::write;
  /// The metric that exports the value; without a name: none. A gauge is set to the value, a
  /// histogram observes it, a counter adds it.
  MetricName metric = {};
  std::string_view label = {};   ///< of the metric, after those of the record; empty: none
  bool is_total = false;         ///< the value is the counter's total
  std::string_view tag = {};     ///< in TensorBoard; empty: none
  bool in_files = true;          ///< false: the field is only sent or exported
  bool in_whole_seconds = false; ///< a time is written without a fraction
};

/// `member` points to a member, or to a member function: its value is written, but not read.
template <class Member>
struct Field {
  std::string_view name; ///< in JSON
  Member member;
  FieldTraits traits;

  static constexpr bool is_stored = std::is_member_object_pointer_v<Member>;
};

template <class Member>
constexpr Field<Member> field(std::string_view name, Member member, FieldTraits traits = {}) {
  return {name, member, traits};
}

/// The fields of a record, in the order of its JSON. Specialized beside each record.
template <class Record>
inline constexpr auto fields_of = std::tuple<>{};

/// Whether a record is written as the list of its values, without their names.
template <class Record>
inline constexpr bool is_written_as_list = false;

template <class Record>
concept HasFields = (std::tuple_size_v<decltype(fields_of<Record>)> != 0);

template <HasFields Record, class Visitor>
constexpr void for_each_field(const Visitor& visit) {
  std::apply([&visit](const auto&... each) { (visit(each), ...); }, fields_of<Record>);
}

template <class Value>
bool is_empty(const Value& value) {
  if constexpr (requires { value.has_value(); })
    return !value.has_value();
  else if constexpr (requires { value.empty(); })
    return value.empty();
  else if constexpr (std::equality_comparable<Value>)
    return value == Value{};
  else
    return false;
}

template <class Member, class Record>
bool is_omitted(const Field<Member>& field, const Record& record) {
  return field.traits.if_empty == IfEmpty::omit && is_empty(std::invoke(field.member, record));
}

template <class Value>
std::optional<double> number_of(const Value& value) {
  if constexpr (std::is_arithmetic_v<Value>)
    return static_cast<double>(value);
  else if constexpr (std::is_convertible_v<Value, std::optional<double>>)
    return value;
  else
    return std::nullopt;
}

/// The value of a field as a number; nullopt if it is omitted or is not a number.
template <class Member, class Record>
std::optional<double> number_of(const Field<Member>& field, const Record& record) {
  return is_omitted(field, record) ? std::nullopt : number_of(std::invoke(field.member, record));
}

} // namespace troupe::metrics
