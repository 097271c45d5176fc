/// Optional values in our JSON. Numbers that are not finite are null.
#pragma once

#include "metrics/time_stamp.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace troupe::metrics {

using OrderedJson = nlohmann::ordered_json;

inline OrderedJson number_or_null(const std::optional<double>& value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

inline OrderedJson text_or_null(const std::string& value) {
  return value.empty() ? OrderedJson(nullptr) : OrderedJson(value);
}

/// Replaces invalid UTF-8, which names chosen by users may contain.
inline std::string dumped(const OrderedJson& json, int indent = -1) {
  return json.dump(indent, ' ', false, OrderedJson::error_handler_t::replace);
}

/// nan if missing.
inline double number_at(const OrderedJson& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>()
                                                     : std::numeric_limits<double>::quiet_NaN();
}

inline std::optional<double> optional_number_at(const OrderedJson& object, const char* key) {
  const auto value = number_at(object, key);
  return value == value ? std::optional(value) : std::nullopt;
}

template <class Integer>
Integer integer_at(const OrderedJson& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<Integer>() : Integer{};
}

inline std::optional<std::int64_t> optional_integer_at(const OrderedJson& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer()
             ? std::optional{found->get<std::int64_t>()}
             : std::nullopt;
}

inline std::string text_at(const OrderedJson& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

/// 1970 if missing, as in records of earlier versions.
inline std::chrono::system_clock::time_point moment_at(const OrderedJson& object, const char* key) {
  return parse_utc(text_at(object, key)).value_or(std::chrono::system_clock::time_point{});
}

} // namespace troupe::metrics
