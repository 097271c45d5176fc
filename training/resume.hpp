/// Where a run begins: afresh, or from a checkpoint.
#pragma once

#include "core/checkpoint/store.hpp"
#include "core/config/forward.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace troupe::training {

struct ResumePoint {
  StateSourcePtr state = nullptr;  ///< null: afresh
  std::filesystem::path path = {}; ///< of the run that goes on; empty: it begins
  std::vector<std::string> notes;  ///< what the user should know
};

/// What a checkpoint records of its config, and what a resumed run must share with it: all but the
/// precision, of whose change a note tells. What it records of the data: data_identity.hpp.
std::map<std::string, std::string> checkpoint_metadata(const Config& config);

/// runs/NAME
std::filesystem::path run_folder(const Config& config);

/// The newest valid checkpoint of a run's folder, as far as it is verified; no state: there is
/// none. Blocks on files.
ResumePoint find_newest(const std::filesystem::path& folder, Verify verify = Verify::content);

/// Obeys checkpoint.resume and model.pretrained. auto: the newest valid checkpoint of the run's
/// folder; damaged ones are named in the notes and skipped. never: none; an earlier run of the same
/// name stays in place (earlier_run.hpp). Blocks on files. Errors: a named checkpoint cannot be
/// read; a checkpoint is of another model, data set, batch size, seed, order or optimizer (named,
/// with both values), or does not say of which; the folder has other files and no run; those of
/// open_pretrained.
Result<ResumePoint> find_resume_point(const Config& config, const std::filesystem::path& folder);

} // namespace troupe::training
