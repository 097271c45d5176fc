/// The description of a metric.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace troupe::metrics {

enum class MetricType : std::uint8_t { counter, gauge, histogram };

/// The nodes that export a metric. Only the leader exports metrics of the whole job.
enum class Teller : std::uint8_t { leader, every_node };

inline constexpr std::size_t most_labels = 5;

struct MetricName {
  std::string_view name; ///< ends in its base unit, or in _total for counters
  MetricType type;
  Teller teller;
  std::string_view help;
  std::array<std::string_view, most_labels> labels = {}; ///< unused ones are empty
};

/// Whether its series end with their generation: the next one has other ranks and peers.
constexpr bool ends_with_generation(const MetricName& metric) {
  return std::ranges::any_of(
      metric.labels, [](std::string_view label) { return label == "rank" || label == "peer"; });
}

namespace names {

using enum MetricType;
using enum Teller;
using M = MetricName;

/// A metric with labels.
template <class... Labels>
constexpr M metric(std::string_view name, MetricType type, Teller teller, std::string_view help,
                   const Labels&... labels) {
  return {name, type, teller, help, {labels...}};
}

} // namespace names

} // namespace troupe::metrics
