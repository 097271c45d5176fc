/// How slices were dealt to the workers of a run, as its events.jsonl says.
#pragma once

#include "core/error.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

namespace troupe::metrics {

/// Slices of each rank, by the first step that was dealt so. Before the first they were dealt
/// evenly.
using RecordedAssignment = std::map<std::int64_t, std::vector<int>>;

/// Blocks. Errors: invalid_input (no such file); data (names the line), where a dealing is not of
/// so many slices, or a rank has fewer than `least`.
Result<RecordedAssignment> read_slice_assignment(const std::filesystem::path& events,
                                                 std::int64_t slices, int least);

} // namespace troupe::metrics
