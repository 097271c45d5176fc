#include "app/profile_text.hpp"

#include "metrics/json_values.hpp"
#include "metrics/number_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace troupe::app {

namespace {

using training::ProfileRow;
using Json = metrics::OrderedJson;

/// Returns nothing if the divisor is 0.
std::optional<double> ratio(double value, double by) {
  return by > 0 ? std::optional{value / by} : std::nullopt;
}

std::optional<double> operations_per_second(const ProfileRow& row) {
  return row.operations > 0 ? ratio(row.operations, row.seconds) : std::nullopt;
}

/// Only of work that is not a product.
std::optional<double> bytes_per_second(const ProfileRow& row) {
  return row.operations > 0 || row.bytes <= 0 ? std::nullopt : ratio(row.bytes, row.seconds);
}

std::optional<double> share_of_limit(const ProfileRow& row) {
  return row.least_seconds > 0 ? ratio(row.least_seconds, row.seconds) : std::nullopt;
}

std::string cell(const std::optional<double>& value, double factor) {
  return value ? fmt::format("{:.1f}", factor * *value) : "";
}

std::string label(const ProfileRow& row) {
  return row.shapes.empty() ? row.name : row.name + "  " + row.shapes;
}

/// A limit is shown only if it is known.
std::string limit(double rate, std::string_view of) {
  return rate > 0 ? fmt::format(", {} {}",
                                of == "peak" ? metrics::format_operations(rate)
                                             : fmt::format("{:.1f} GB/s", 1e-9 * rate),
                                of)
                  : "";
}

} // namespace

std::string profile_text(const training::StepProfile& profile) {
  const auto& limits = profile.limits;
  auto text = fmt::format("{}, {}{}{}{}\n\n", profile.device, profile.arithmetic,
                          limit(limits.operations, "peak"), limit(limits.memory, "from memory"),
                          limit(limits.cache, "from the last cache"));
  std::size_t width = 12;
  for (const auto& row : profile.rows)
    width = std::max(width, label(row).size());
  const auto add = [&](std::string_view name, const auto&... cells) {
    text += fmt::format("{:<{}}", name, width);
    ((text += fmt::format("{:>9}", cells)), ...);
    text += '\n';
  };
  add("op", "calls", "ms", "step %", "GFLOP/s", "GB/s", "limit %");
  for (const auto& row : profile.rows)
    add(label(row), row.calls > 0 ? fmt::format("{:g}", row.calls) : "",
        fmt::format("{:.3f}", 1e3 * row.seconds), cell(ratio(row.seconds, profile.seconds), 100),
        cell(operations_per_second(row), 1e-9), cell(bytes_per_second(row), 1e-9),
        cell(share_of_limit(row), 100));
  add("step", "", fmt::format("{:.3f}", 1e3 * profile.seconds));
  return text +
         fmt::format("\nmean of {}, {} samples each: {} samples/s\n",
                     metrics::counted(profile.steps, "step"), profile.samples,
                     metrics::format_rate(static_cast<double>(profile.samples) / profile.seconds));
}

std::string profile_json(const training::StepProfile& profile) {
  const auto known = [](double value) {
    return metrics::number_or_null(value > 0 ? std::optional{value} : std::nullopt);
  };
  auto rows = Json::array();
  for (const auto& row : profile.rows)
    rows.push_back({{"name", row.name},
                    {"shapes", metrics::text_or_null(row.shapes)},
                    {"calls", row.calls},
                    {"seconds", row.seconds},
                    {"share_of_step", row.seconds / profile.seconds},
                    {"operations", known(row.operations)},
                    {"bytes", known(row.bytes)},
                    {"operations_per_second", metrics::number_or_null(operations_per_second(row))},
                    {"bytes_per_second", metrics::number_or_null(bytes_per_second(row))},
                    {"share_of_limit", metrics::number_or_null(share_of_limit(row))}});
  const auto& limits = profile.limits;
  const Json root = {{"device", profile.device},
                     {"arithmetic", profile.arithmetic},
                     {"limits",
                      {{"operations_per_second", known(limits.operations)},
                       {"memory_bytes_per_second", known(limits.memory)},
                       {"cache_bytes_per_second", known(limits.cache)},
                       {"cache_bytes", known(limits.cache_bytes)}}},
                     {"samples", profile.samples},
                     {"steps", profile.steps},
                     {"seconds", profile.seconds},
                     {"rows", rows}};
  return metrics::dumped(root, 2) + "\n";
}

} // namespace troupe::app
