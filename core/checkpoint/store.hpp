/// The checkpoints of one run: a folder that has a folder of each, step-000000123. One of version 1
/// is a file, step-000000123.safetensors.
#pragma once

#include "core/checkpoint/manifest.hpp"
#include "core/checkpoint/state_source.hpp"
#include "core/error.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Blocks on files; owned by one actor. Touches only its own files in the folder.
class CheckpointStore {
public:
  /// The folder need not exist yet. `drafts`: where checkpoints are written, which must
  /// (drafts.hpp); empty: beside their names.
  explicit CheckpointStore(std::filesystem::path folder, std::filesystem::path staging = {});

  struct Entry {
    std::int64_t step = 0;
    std::filesystem::path path;
  };
  struct Newest {
    std::optional<Entry> entry; ///< empty: there is no valid checkpoint
    StateSourcePtr state;       ///< of the entry
    /// Damaged files, left-over temporary files, a folder that cannot be read: for the log.
    std::vector<Error> skipped;
  };

  /// How files begin that only say to others that this folder is theirs, too
  /// (training/shared_folder.hpp).
  static constexpr std::string_view mark_prefix = ".shared-";

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path path_of(std::int64_t step) const;

  /// Where the files of a checkpoint are written before it gets its name. Several processes that
  /// share the folder may ask for the same.
  Result<std::filesystem::path> begin(std::int64_t step) const;
  /// Writes the manifest beside the files and gives the checkpoint its name.
  Result<Entry> finish(const Manifest& manifest);
  /// Deletes what begin() has begun.
  void abandon(std::int64_t step) const;
  /// All of it at once.
  Result<Entry> save(const Checkpoint& checkpoint);

  /// All checkpoints by name, newest first, unread.
  std::vector<Entry> list() const;

  /// Opens from the newest down until one is valid, as far as it is verified.
  Newest newest_valid(Verify verify = Verify::content);

  /// The link "best" leads to a checkpoint, which is not pruned.
  Status mark_best(std::int64_t step) const;
  std::optional<Entry> best() const;

  /// Deletes all but the newest `keep` (at least one), and never the best or the newest valid one.
  /// Returns what was deleted.
  Result<std::vector<Entry>> prune(std::int64_t keep);

  /// Deletes what writers that were killed left behind. Only for the one process that owns the run.
  Result<std::vector<std::filesystem::path>> remove_temporaries();

private:
  /// Enough of a checkpoint's identity to see that it is still the one that was verified.
  struct Verified {
    std::filesystem::path path;
    std::uintmax_t size = 0; ///< of all its files
    std::filesystem::file_time_type written = std::filesystem::file_time_type::min(); ///< the last

    bool operator==(const Verified&) const = default;
  };

  std::filesystem::path partial_of(std::int64_t step) const;
  std::vector<std::filesystem::path> unfinished() const; ///< parts of checkpoints
  std::vector<std::filesystem::path> marks() const;
  Result<std::size_t> find_newest_valid(const std::vector<Entry>& entries);
  bool is_verified(const Entry& entry) const;
  void remember(const Entry& entry);
  static std::optional<Verified> identify(const Entry& entry);

  std::filesystem::path folder_, staging_;
  std::optional<Verified> verified_; ///< spares prune() from reading what was just written
};

} // namespace troupe
