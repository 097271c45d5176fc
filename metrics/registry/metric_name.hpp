/// What is said of a metric where it is named.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace troupe::metrics {

enum class MetricType : std::uint8_t { counter, gauge, histogram };

/// What belongs to the whole job is told by the node that leads it alone.
enum class Teller : std::uint8_t { leader, every_node };

inline constexpr std::size_t most_labels = 5;

struct MetricName {
  std::string_view name; ///< ends in its base unit, or in _total when it is counted
  MetricType type;
  Teller teller;
  std::string_view help;
  std::array<std::string_view, most_labels> labels = {}; ///< those that are not used stay empty
};

/// Whether its series are those of one generation: the next one has other ranks and peers.
constexpr bool ends_with_generation(const MetricName& metric) {
  return std::ranges::any_of(
      metric.labels, [](std::string_view label) { return label == "rank" || label == "peer"; });
}

namespace names {

using enum MetricType;
using enum Teller;
using M = MetricName;

} // namespace names

} // namespace troupe::metrics
