/// How SLURM writes lists in short.
#pragma once

#include "core/error.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The parts between commas; those in brackets do not count.
std::vector<std::string_view> split_list(std::string_view text);

/// "node[1-3,07],gpu[0-1]-[a,b]": the names, in the order in which SLURM counts them. Error:
/// invalid_input, with what is wrong where.
Result<std::vector<std::string>> expand_node_list(std::string_view list);

/// "2(x3),1": 2, 2, 2, 1. Nothing: it is no such list.
std::optional<std::vector<std::int64_t>> repeated_counts(std::string_view list);

} // namespace troupe
