/// Configs parsed from a text, and their problems as the user sees them.
#pragma once

#include "core/config/load.hpp"
#include "nn/config_check.hpp"

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::testing {

using Lines = std::vector<std::string>;

/// Returns the messages for a text named "a.yaml"; by default the machine has every capability.
inline Lines problems(std::string_view text, const std::vector<std::string>& overrides = {},
                      const Capabilities& capabilities = Capabilities::all()) {
  Lines lines;
  const auto config = parse_config(text, "a.yaml", overrides, capabilities, nn::model_catalogue());
  if (!config)
    for (const auto& problem : config.error())
      lines.push_back(problem.to_string());
  return lines;
}

/// Returns the one problem that overrides cause in a valid config, without its source.
inline std::string only_conflict(std::string_view text, const std::vector<std::string>& overrides,
                                 const Capabilities& capabilities = Capabilities::all()) {
  const auto config = parse_config(text, "a.yaml", overrides, capabilities, nn::model_catalogue());
  if (config || config.error().size() != 1)
    return "expected one problem, found " + std::to_string(config ? 0 : config.error().size());
  auto problem = config.error().front();
  problem.source.clear();
  problem.line = 0;
  return problem.to_string();
}

/// Parses a text that must be a valid config.
inline Config good(std::string_view text, const std::vector<std::string>& overrides = {}) {
  auto config = parse_config(text, "a.yaml", overrides, Capabilities::all(), nn::model_catalogue());
  if (!config)
    throw std::runtime_error(to_error(config.error()).message);
  return std::move(*config);
}

inline std::string printed(const Config& config) {
  return to_yaml(config, nn::model_catalogue());
}

/// Completes a config in tests of other keys.
inline const std::string synthetic = "data: {dataset: synthetic}\n";

} // namespace troupe::testing
