/// Values in our JSON. Numbers that are not finite are null.
#pragma once

#include <nlohmann/json.hpp>

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

} // namespace troupe::metrics
