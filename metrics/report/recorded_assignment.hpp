/// Reads how slices were assigned to the workers of a run from its events.jsonl.
#pragma once

#include "core/error.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

namespace troupe::metrics {

/// Slices of each rank, by the first step of each assignment. Steps before the first entry have an
/// even assignment.
using RecordedAssignment = std::map<std::int64_t, std::vector<int>>;

/// Blocks. Errors: invalid_input, if the file does not exist; data, naming the line, if an
/// assignment does not have `slices` slices in all or a rank has fewer than `least`.
Result<RecordedAssignment> read_slice_assignment(const std::filesystem::path& events,
                                                 std::int64_t slices, int least);

} // namespace troupe::metrics
