#include "core/checkpoint/store.hpp"

#include "core/atomic_file.hpp"
#include "core/fail.hpp"
#include "core/whole_number.hpp"

#include <algorithm>
#include <string_view>

namespace troupe {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view prefix = "step-";
constexpr std::string_view file_suffix = ".safetensors"; ///< of version 1
// A folder that is being written, and one that is being deleted.
constexpr std::string_view partial_suffix = ".partial", deleted_suffix = ".deleted";
constexpr const char* best_link = "best";
constexpr std::size_t digits = 9; // more if the step needs them

std::optional<std::int64_t> step_of(std::string_view name, std::string_view suffix) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix) ||
      name.size() < prefix.size() + digits + suffix.size())
    return std::nullopt;
  const auto number = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  const auto step = read_whole_number<std::int64_t>(number);
  return step && *step >= 0 ? step : std::nullopt;
}

std::optional<std::int64_t> step_of(const fs::directory_entry& entry) {
  std::error_code ignored;
  return step_of(entry.path().filename().string(), entry.is_directory(ignored) ? "" : file_suffix);
}

/// Lists a folder, and reports why the list is incomplete. A missing folder is not an error.
std::vector<fs::directory_entry> entries_in(const fs::path& folder, std::error_code& error) {
  std::vector<fs::directory_entry> entries;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    entries.push_back(*at);
  if (error == std::errc::no_such_file_or_directory)
    error.clear();
  return entries;
}

/// For callers that can continue without these files: newest_valid() reports a folder that cannot
/// be read, and writing to it gives the error.
std::vector<fs::directory_entry> entries_in(const fs::path& folder) {
  std::error_code ignored;
  return entries_in(folder, ignored);
}

/// Returns the matching paths, sorted.
std::vector<fs::path> paths_in(const fs::path& folder, bool (*taken)(const fs::directory_entry&)) {
  std::vector<fs::path> paths;
  for (const auto& entry : entries_in(folder))
    if (taken(entry))
      paths.push_back(entry.path());
  std::ranges::sort(paths);
  return paths;
}

/// Returns the files of a checkpoint's folder, or the single file itself.
std::vector<fs::path> files_of(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored))
    return {path};
  std::vector<fs::path> files;
  for (const auto& entry : entries_in(path))
    files.push_back(entry.path());
  return files;
}

tl::unexpected<Error> not_made(const fs::path& folder, const std::error_code& error) {
  return fail(error == std::errc::no_space_on_device ? Errc::no_space : Errc::io,
              "cannot create the folder {}: {}", folder.string(), error.message());
}

/// Renames a folder before deleting it, so that a partly deleted one is never taken for a
/// checkpoint.
Status remove_checkpoint(const fs::path& path) {
  auto doomed = path;
  std::error_code error;
  if (fs::is_directory(path, error)) {
    doomed += deleted_suffix;
    fs::rename(path, doomed, error);
  }
  if (!error)
    fs::remove_all(doomed, error);
  if (error)
    return fail(Errc::io, "cannot delete {}: {}", path.string(), error.message());
  return {};
}

} // namespace

CheckpointStore::CheckpointStore(fs::path folder, fs::path staging)
    : folder_(std::move(folder)), staging_(std::move(staging)) {}

fs::path CheckpointStore::path_of(std::int64_t step) const {
  return folder_ / fmt::format("{}{:09}", prefix, step);
}

fs::path CheckpointStore::partial_of(std::int64_t step) const {
  auto name = path_of(step).filename();
  name += partial_suffix;
  return (staging_.empty() ? folder_ : staging_) / name;
}

/// Does not create the staging directory: a writer that has lost the right to write does not have
/// one.
Result<fs::path> CheckpointStore::begin(std::int64_t step) const {
  const auto partial = partial_of(step);
  TROUPE_TRY(make_folders(folder_));
  std::error_code error;
  fs::create_directory(partial, error);
  if (error)
    return not_made(partial, error);
  return partial;
}

Result<CheckpointStore::Entry> CheckpointStore::finish(const Manifest& manifest) {
  Entry entry{manifest.step, path_of(manifest.step)};
  TROUPE_TRY(const auto partial, begin(manifest.step));
  TROUPE_TRY(write_manifest(partial, manifest));
  TROUPE_TRY(rename_folder_atomically(partial, entry.path));
  remember(entry);
  return entry;
}

void CheckpointStore::abandon(std::int64_t step) const {
  const auto partial = partial_of(step);
  std::error_code ignored; // the next run removes the rest when it begins
  fs::remove_all(partial, ignored);
}

std::vector<CheckpointStore::Entry> CheckpointStore::list() const {
  std::vector<Entry> entries;
  for (const auto& entry : entries_in(folder_))
    if (const auto step = step_of(entry))
      entries.push_back({*step, entry.path()});
  std::ranges::sort(entries, std::ranges::greater{}, &Entry::step);
  return entries;
}

CheckpointStore::Newest CheckpointStore::newest_valid(Verify verify) {
  Newest newest;
  if (std::error_code error; entries_in(folder_, error), error)
    newest.skipped.push_back({Errc::io, fmt::format("cannot read the folder {}: {}",
                                                    folder_.string(), error.message())});
  for (const auto& file : unfinished())
    newest.skipped.push_back(
        {Errc::corrupt, fmt::format("{}: an unfinished checkpoint", file.string())});
  for (auto& entry : list()) {
    auto state = open_state(entry.path, verify);
    if (state) {
      if (verify == Verify::content)
        remember(entry);
      newest.entry = std::move(entry);
      newest.state = std::move(*state);
      break;
    }
    newest.skipped.push_back(std::move(state).error());
  }
  return newest;
}

Status CheckpointStore::mark_best(std::int64_t step) const {
  const auto temporary = temporary_name((staging_.empty() ? folder_ : staging_) / best_link);
  std::error_code error;
  fs::create_directory_symlink(path_of(step).filename(), temporary, error);
  if (!error)
    fs::rename(temporary, folder_ / best_link, error);
  if (error)
    return fail(Errc::io, "cannot create the link {}: {}", (folder_ / best_link).string(),
                error.message());
  return {};
}

std::optional<CheckpointStore::Entry> CheckpointStore::best() const {
  std::error_code error;
  const auto name = fs::read_symlink(folder_ / best_link, error).filename();
  const auto step = step_of(name.string(), "");
  if (error || !step || !fs::is_directory(folder_ / name, error))
    return std::nullopt;
  return Entry{*step, folder_ / name};
}

Result<std::vector<CheckpointStore::Entry>> CheckpointStore::prune(std::int64_t keep) {
  const auto entries = list();
  const auto kept = static_cast<std::size_t>(std::max<std::int64_t>(keep, 1));
  std::vector<Entry> deleted;
  if (entries.size() <= kept)
    return deleted;
  TROUPE_TRY(const auto spared, find_newest_valid(entries));
  const auto best_one = best();
  for (std::size_t i = kept; i < entries.size(); ++i) {
    if (i == spared || (best_one && best_one->path == entries[i].path))
      continue;
    TROUPE_TRY(remove_checkpoint(entries[i].path));
    deleted.push_back(entries[i]);
  }
  return deleted;
}

Result<std::vector<fs::path>> CheckpointStore::remove_temporaries() {
  auto doomed = unfinished();
  const auto marks = paths_in(folder_, [](const fs::directory_entry& entry) {
    std::error_code ignored;
    return entry.is_regular_file(ignored) &&
           entry.path().filename().string().starts_with(mark_prefix);
  });
  doomed.insert(doomed.end(), marks.begin(), marks.end());
  std::vector<fs::path> removed;
  for (auto& file : doomed) {
    std::error_code error;
    fs::remove_all(file, error);
    if (error)
      return fail(Errc::io, "cannot delete {}: {}", file.string(), error.message());
    removed.push_back(std::move(file));
  }
  return removed;
}

std::vector<fs::path> CheckpointStore::unfinished() const {
  return paths_in(folder_, [](const fs::directory_entry& entry) {
    const auto name = entry.path().filename();
    if (std::error_code ignored; entry.is_directory(ignored))
      return step_of(name.string(), partial_suffix) || step_of(name.string(), deleted_suffix);
    const auto target = AtomicFile::target_of(name);
    return target && (target == best_link || step_of(target->string(), file_suffix));
  });
}

Result<std::size_t> CheckpointStore::find_newest_valid(const std::vector<Entry>& entries) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (verified_ && verified_ == identify(entries[i]))
      return i;
    const auto state = open_state(entries[i].path);
    if (state) {
      remember(entries[i]);
      return i;
    }
    // A file that cannot be read now may still be the newest valid one.
    if (state.error().code != Errc::corrupt)
      return failure(state.error());
  }
  return entries.size();
}

void CheckpointStore::remember(const Entry& entry) {
  verified_ = identify(entry);
}

/// Returns nullopt if the attributes of its files cannot be read.
std::optional<CheckpointStore::Verified> CheckpointStore::identify(const Entry& entry) {
  Verified identity{.path = entry.path};
  for (const auto& file : files_of(entry.path)) {
    std::error_code size_error, time_error;
    identity.size += fs::file_size(file, size_error);
    identity.written = std::max(identity.written, fs::last_write_time(file, time_error));
    if (size_error || time_error)
      return std::nullopt;
  }
  return identity;
}

} // namespace troupe
