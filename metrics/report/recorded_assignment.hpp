/// Reads how slices were assigned to the workers of a run from its events.jsonl.
#pragma once

#include "core/error.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

namespace troupe::metrics {

/// Returns the number of slices of each rank, by the first step of each assignment. Blocks. Errors:
/// invalid_input, if the file does not exist; data, naming the line, if an assignment does not have
/// `slices` slices in all or a rank has fewer than `least`.
Result<std::map<std::int64_t, std::vector<int>>>
read_slice_counts(const std::filesystem::path& events, std::int64_t slices, int least);

} // namespace troupe::metrics
