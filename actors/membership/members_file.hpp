/// members.json in a run's folder: the nodes that this node trained with last. A restarted daemon
/// asks them whether they continue without it before it begins a job.
#pragma once

#include "core/error.hpp"
#include "metrics/report/run_folder.hpp"
#include "training/node_assignment.hpp"

#include <filesystem>
#include <utility>
#include <vector>

namespace troupe::actors {

inline constexpr const char* members_file = metrics::run_files::members;

struct Members {
  std::int64_t generation = 0;
  std::vector<training::Voter> nodes;  ///< all of them
  std::vector<training::Voter> voters; ///< of the next record, the leader first
  std::int32_t revision = 0;

  std::pair<std::int64_t, std::int32_t> order() const { return {generation, revision}; }
};

Members members_of(const training::GenerationRecord& record);

/// Blocks on files. Errors: io, no_space.
Status write_members(const std::filesystem::path& folder, const training::GenerationRecord& record);

/// Returns no members if the file is missing or cannot be read.
Members read_members(const std::filesystem::path& folder);

/// Removes the file when the job has ended, because no node continues it.
void forget_members(const std::filesystem::path& folder);

} // namespace troupe::actors
