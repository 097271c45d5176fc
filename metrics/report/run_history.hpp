/// The course of a run from its first step on, also over several processes.
#pragma once

#include "../step_record.hpp"

#include <filesystem>
#include <vector>

namespace troupe::metrics {

struct RunHistory {
  std::vector<StepRecord> steps;
  std::vector<EpochRecord> epochs;
};

/// Reads a run folder's events.jsonl and epochs.jsonl; lines that are damaged are left out.
RunHistory read_history(const std::filesystem::path& run);

} // namespace troupe::metrics
