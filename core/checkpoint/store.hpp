/// The checkpoints of one run: a folder of files step-000000123.safetensors.
#pragma once

#include "../error.hpp"
#include "checkpoint.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// Blocks on files; owned by one actor. Touches only its own files in the folder.
class CheckpointStore {
public:
  /// The folder need not exist yet.
  explicit CheckpointStore(std::filesystem::path folder);

  struct Entry {
    std::int64_t step = 0;
    std::filesystem::path path;
  };
  struct Newest {
    std::optional<Entry> entry; ///< empty: there is no valid checkpoint
    Checkpoint checkpoint;
    /// Damaged files, left-over temporary files, a folder that cannot be read: for the log.
    std::vector<Error> skipped;
  };

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path path_of(std::int64_t step) const;

  /// Begins a file under its step's name; makes the folder when needed.
  Result<CheckpointWriter> begin(const CheckpointHeader& header) const;
  /// Commits what begin() has begun for this step.
  Result<Entry> finish(CheckpointWriter& writer, std::int64_t step);
  /// Writes `checkpoint` under its step's name, atomically; makes the folder when needed.
  Result<Entry> save(const Checkpoint& checkpoint);

  /// All checkpoints by name, newest first, unread.
  std::vector<Entry> list() const;

  /// Reads from the newest down until one is valid.
  Newest newest_valid();

  /// Deletes all but the newest `keep` (at least one), and never the newest valid one. Returns what
  /// was deleted.
  Result<std::vector<Entry>> prune(std::int64_t keep);

  /// Deletes what writers that were killed left behind. Only for the one process that owns the run.
  Result<std::vector<std::filesystem::path>> remove_temporaries();

private:
  /// Enough of a file's identity to see that it is still the one that was verified.
  struct Verified {
    std::filesystem::path path;
    std::uintmax_t size = 0;
    std::filesystem::file_time_type written;
  };

  Status make_folder() const;
  std::vector<std::filesystem::path> temporaries() const;
  Result<std::size_t> find_newest_valid(const std::vector<Entry>& entries);
  bool is_verified(const Entry& entry) const;
  void remember(const Entry& entry);

  std::filesystem::path folder_;
  std::optional<Verified> verified_; ///< spares prune() from reading what was just written
};

} // namespace troupe
