/// Writes records as JSON, field by field (metrics/records/field.hpp).
#pragma once

#include "core/config/strategies.hpp"
#include "core/device/device.hpp"
#include "metrics/json_values.hpp"
#include "metrics/records/field.hpp"
#include "metrics/records/step.hpp"
#include "metrics/time_stamp.hpp"

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <string>
#include <vector>

namespace troupe::metrics {

// Values that have their own form.
OrderedJson to_value(std::chrono::system_clock::time_point time);
OrderedJson to_value(StrategyKind strategy);
OrderedJson to_value(const MemoryUse& memory);    ///< only peaks
OrderedJson to_value(const CollectiveUses& uses); ///< only kinds that were used
OrderedJson bytes_by_kind(const std::array<std::size_t, memory_kinds>& bytes);

template <class Item>
OrderedJson to_value(const std::vector<Item>& items);
template <HasFields Record>
OrderedJson to_value(const Record& record);

/// A number, a text or true or false; or an optional value, which is null if empty.
template <class Value>
OrderedJson to_value(const Value& value) {
  if constexpr (requires { value.has_value(); })
    return value ? to_value(*value) : OrderedJson(nullptr);
  else
    return OrderedJson(value);
}

template <class Item>
OrderedJson to_value(const std::vector<Item>& items) {
  auto list = OrderedJson::array();
  for (const auto& item : items)
    list.push_back(to_value(item));
  return list;
}

template <class Member, class Record>
OrderedJson value_of(const Field<Member>& field, const Record& record) {
  const auto& value = std::invoke(field.member, record);
  if (field.traits.if_empty == IfEmpty::null && is_empty(value))
    return nullptr;
  if constexpr (std::convertible_to<decltype(value), std::chrono::system_clock::time_point>)
    if (field.traits.in_whole_seconds)
      return utc(value);
  return to_value(value);
}

template <HasFields Record>
OrderedJson to_value(const Record& record) {
  auto json = is_written_as_list<Record> ? OrderedJson::array() : OrderedJson::object();
  for_each_field<Record>([&](const auto& field) {
    if constexpr (is_written_as_list<Record>)
      json.push_back(value_of(field, record));
    else if (field.traits.in_files && !is_omitted(field, record))
      json.emplace(std::string{field.name}, value_of(field, record));
  });
  return json;
}

} // namespace troupe::metrics
