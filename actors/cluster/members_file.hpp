/// members.json in a run's folder: with whom this node trained last. A daemon that is started again
/// asks them whether they go on without it, before it begins anew.
#pragma once

#include "troupe/core/error.hpp"
#include "troupe/engine/seat.hpp"
#include "troupe/metrics/report/run_folder.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace troupe::actors {

inline constexpr const char* members_file = metrics::run_files::members;

struct Members {
  std::int64_t generation = 0;
  std::vector<engine::Voter> nodes;  ///< all of them
  std::vector<engine::Voter> voters; ///< who decided on what followed, the leader first
  std::int32_t revision = 0;
};

Members members_of(const engine::GenerationRecord& record);

/// Blocks on files. Errors: io, no_space.
Status write_members(const std::filesystem::path& folder, const engine::GenerationRecord& record);

/// Empty where there is no such file, or none that can be read: then nothing is known.
Members read_members(const std::filesystem::path& folder);

/// The job has ended: nobody goes on.
void forget_members(const std::filesystem::path& folder);

} // namespace troupe::actors
