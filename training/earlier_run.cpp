#include "training/earlier_run.hpp"

#include "core/atomic_file.hpp"
#include "core/fail.hpp"
#include "metrics/report/run_folder.hpp"

#include <algorithm>
#include <system_error>

namespace troupe::training {

namespace {

namespace fs = std::filesystem;

Status move_entry(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error)
    return fail(Errc::io, "cannot rename {} to {}: {}", from.string(), to.string(),
                error.message());
  return {};
}

/// Returns NAME.1, or the first free number.
fs::path free_name_beside(const fs::path& folder) {
  std::error_code ignored;
  for (int number = 1;; ++number)
    if (fs::path aside = fmt::format("{}.{}", folder.string(), number); !fs::exists(aside, ignored))
      return aside;
}

/// Whether the folder contains anything besides entries of the new run and empty folders.
bool holds_a_run(const fs::path& folder, const std::vector<std::string>& kept) {
  std::error_code error;
  for (fs::directory_iterator at{folder, error}, end; !error && at != end; at.increment(error))
    if (std::ranges::count(kept, at->path().filename().string()) == 0 &&
        !(at->is_directory(error) && fs::is_empty(at->path(), error)))
      return true;
  return false;
}

} // namespace

Result<std::optional<fs::path>> set_earlier_run_aside(const fs::path& folder,
                                                      const std::vector<std::string>& kept) {
  if (!holds_a_run(folder, kept))
    return std::nullopt;
  TROUPE_TRY(metrics::check_unwritten(folder));
  auto aside = free_name_beside(folder);
  TROUPE_TRY(move_entry(folder, aside));
  TROUPE_TRY(make_folders(folder));
  std::error_code ignored;
  for (const auto& name : kept)
    if (fs::exists(aside / name, ignored))
      TROUPE_TRY(move_entry(aside / name, folder / name));
  return aside;
}

} // namespace troupe::training
