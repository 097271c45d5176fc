#include "training/shared_folder.hpp"

#include "core/atomic_file.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "training/resume.hpp"

#include <chrono>

#include <unistd.h>

namespace troupe::training {

namespace {

namespace fs = std::filesystem;

/// Returns a name that is unique to this process and time.
std::string probe_name() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return fmt::format("{}{}-{}-{}", CheckpointStore::mark_prefix, ::gethostid(), ::getpid(),
                     std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

tl::unexpected<Error> not_shared(const fs::path& folder, std::string_view reason) {
  return fail(
      Errc::invalid_input,
      "checkpoint.state is sharded, but {} is not the leader's checkpoint folder: {}; set "
      "run.output and run.name to a folder that all nodes share, or checkpoint.state to full",
      escaped(folder.string()), reason);
}

} // namespace

Result<SharedFolder> offer_folder(const fs::path& checkpoints, const ResumePoint& resume_point) {
  SharedFolder shared{.probe = probe_name(), .checkpoint = {}};
  TROUPE_TRY(make_folders(checkpoints));
  TROUPE_TRY(write_file_atomically(checkpoints / shared.probe, "all nodes see this\n"));
  if (!resume_point.path.empty())
    shared.checkpoint = resume_point.path.parent_path() == checkpoints
                            ? resume_point.path.filename().string()
                            : fs::absolute(resume_point.path).string();
  return shared;
}

Result<StateSourcePtr> enter_folder(const fs::path& checkpoints, const SharedFolder& shared,
                                    int node) {
  std::error_code error;
  if (!fs::exists(checkpoints / shared.probe, error))
    return not_shared(checkpoints, fmt::format("it has no file {}", shared.probe));
  const auto mine = checkpoints / fmt::format("{}-{}", shared.probe, node);
  if (const auto written = write_file_atomically(mine, ""); !written)
    return not_shared(checkpoints, written.error().message);
  fs::remove(mine, error);
  if (shared.checkpoint.empty())
    return nullptr;
  return open_state(checkpoints / shared.checkpoint, Verify::sizes); // the leader has verified it
}

void withdraw_offer(const fs::path& checkpoints, const SharedFolder& shared) {
  std::error_code ignored; // failure only leaves an empty file
  if (!shared.probe.empty())
    fs::remove(checkpoints / shared.probe, ignored);
}

} // namespace troupe::training
