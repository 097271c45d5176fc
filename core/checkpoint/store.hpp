/// The checkpoints of one run: a folder with one subfolder for each checkpoint, step-000000123. A
/// version 1 checkpoint is a file, step-000000123.safetensors.
#pragma once

#include "core/checkpoint/manifest.hpp"
#include "core/checkpoint/state_source.hpp"
#include "core/error.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace troupe {

/// Owned by one actor. Blocks on files. Touches only its own files in the folder.
class CheckpointStore {
public:
  /// `folder` need not exist yet. `staging` is the folder in which checkpoints are written
  /// (staging.hpp) and must exist; if it is empty, they are written in `folder`.
  explicit CheckpointStore(std::filesystem::path folder, std::filesystem::path staging = {});

  struct Entry {
    std::int64_t step = 0;
    std::filesystem::path path;
  };
  struct Newest {
    std::optional<Entry> entry; ///< nullopt if no checkpoint is valid
    StateSourcePtr state;       ///< of the entry
    /// Damaged files, leftover temporary files, an unreadable folder: for the log.
    std::vector<Error> skipped;
  };

  /// Prefix of the files that nodes create to detect whether they share this folder
  /// (training/shared_folder.hpp).
  static constexpr std::string_view mark_prefix = ".shared-";

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path path_of(std::int64_t step) const;

  /// Creates the folder in which a checkpoint's files are written before the checkpoint gets its
  /// name. Several processes that share the run's folder may call this for the same step.
  Result<std::filesystem::path> begin(std::int64_t step) const;
  /// Writes the manifest next to the files and renames the folder to the checkpoint's name.
  Result<Entry> finish(const Manifest& manifest);
  /// Deletes the folder that begin() created.
  void abandon(std::int64_t step) const;

  /// Lists all checkpoints by name, newest first, without reading them.
  std::vector<Entry> list() const;

  /// Opens the newest checkpoint that is valid as far as `verify` checks it. Tries them newest
  /// first.
  Newest newest_valid(Verify verify = Verify::content);

  /// Makes the link "best" point to a checkpoint, which prune() then keeps.
  Status mark_best(std::int64_t step) const;
  std::optional<Entry> best() const;

  /// Deletes all but the newest `keep` checkpoints (at least one). Keeps the best and the newest
  /// valid one. Returns the deleted ones.
  Result<std::vector<Entry>> prune(std::int64_t keep);

  /// Deletes the temporary files of killed writers. Only the process that owns the run may call it.
  Result<std::vector<std::filesystem::path>> remove_temporaries();

private:
  /// Identity of a verified checkpoint: detects whether its files have changed since.
  struct Verified {
    std::filesystem::path path;
    std::uintmax_t size = 0; ///< of all its files
    std::filesystem::file_time_type written =
        std::filesystem::file_time_type::min(); ///< newest file

    bool operator==(const Verified&) const = default;
  };

  std::filesystem::path partial_of(std::int64_t step) const;
  std::vector<std::filesystem::path> unfinished() const; ///< folders and files of unfinished
                                                         ///< checkpoints
  Result<std::size_t> find_newest_valid(const std::vector<Entry>& entries);
  void remember(const Entry& entry);
  static std::optional<Verified> identify(const Entry& entry);

  std::filesystem::path folder_, staging_;
  std::optional<Verified> verified_; ///< spares prune() from reading the checkpoint just written
};

} // namespace troupe
