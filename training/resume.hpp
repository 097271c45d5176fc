/// Finds the resume point of a run: its start, or a checkpoint. Finds changed settings of a resumed
/// run that affect what it learns.
#pragma once

#include "core/checkpoint/store.hpp"
#include "core/config/forward.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace troupe::training {

struct ResumePoint {
  StateSourcePtr state = nullptr;  ///< null: a new run
  std::filesystem::path path = {}; ///< checkpoint of the resumed run; empty: a new run
  std::vector<std::string> notes;  ///< warnings for the user
};

/// Returns the config values that a checkpoint records. A resumed run must share all of them except
/// the precision; a change of precision gives a note. data_identity.hpp records the data.
std::map<std::string, std::string> checkpoint_metadata(const Config& config);

/// runs/NAME
std::filesystem::path run_folder(const Config& config);

/// Returns the newest valid checkpoint of a run's folder, verified as `verify` says. The state is
/// null if none exists. Blocks on files.
ResumePoint find_newest(const std::filesystem::path& folder, Verify verify = Verify::content);

/// Applies checkpoint.resume and model.pretrained:
/// - auto: the newest valid checkpoint of the run's folder. Damaged ones are skipped and named in
///   the notes.
/// - never: no checkpoint. An earlier run of the same name is not touched here: see
///   set_earlier_run_aside.
/// - a path: that checkpoint.
///
/// Blocks on files. Errors: the named checkpoint cannot be read; the checkpoint is of another
/// model, data set, batch size, seed, order or optimizer (the error names both values), or does not
/// record it; the folder contains files other than a run's; those of open_pretrained.
Result<ResumePoint> find_resume_point(const Config& config, const std::filesystem::path& folder);

/// Moves the folder of an earlier run away when another run of the same name starts
/// (checkpoint.resume: never). Renames the folder to NAME.1, or to the first free number, and
/// returns that path. Returns nothing if the folder holds no run. Entries named in `kept` belong to
/// the new run and stay. Blocks on files. Errors: invalid_input if a process still trains the
/// earlier run; io.
Result<std::optional<std::filesystem::path>>
set_earlier_run_aside(const std::filesystem::path& folder, const std::vector<std::string>& kept);

/// Returns a sentence for each key of training and augmentation whose value differs from the
/// checkpoint's: both values and, if the key affects it, the next learning rate. Returns nothing
/// for a checkpoint that does not record its config.
std::vector<std::string> changes_since(const CheckpointHeader& checkpoint, const Config& config,
                                       std::int64_t steps_per_epoch);

} // namespace troupe::training
