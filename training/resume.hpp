/// Finds the resume point of a run: its start, or a checkpoint.
#pragma once

#include "core/checkpoint/store.hpp"
#include "core/config/forward.hpp"

#include <filesystem>
#include <map>
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
/// - never: no checkpoint. An earlier run of the same name is not touched here (earlier_run.hpp).
/// - a path: that checkpoint.
///
/// Blocks on files. Errors: the named checkpoint cannot be read; the checkpoint is of another
/// model, data set, batch size, seed, order or optimizer (the error names both values), or does not
/// record it; the folder contains files other than a run's; those of open_pretrained.
Result<ResumePoint> find_resume_point(const Config& config, const std::filesystem::path& folder);

} // namespace troupe::training
