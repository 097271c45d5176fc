/// Expands SLURM's compact lists.
#pragma once

#include "core/error.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Splits at commas outside of brackets.
std::vector<std::string_view> split_list(std::string_view text);

/// Expands "node[1-3,07],gpu[0-1]-[a,b]" to names, in SLURM's order. Error: invalid_input, with the
/// problem and its location.
Result<std::vector<std::string>> expand_node_list(std::string_view list);

/// Expands "2(x3),1" to 2, 2, 2, 1. Returns nullopt if `list` is not such a list.
std::optional<std::vector<std::int64_t>> repeated_counts(std::string_view list);

} // namespace troupe
