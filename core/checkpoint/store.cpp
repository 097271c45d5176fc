#include "store.hpp"

#include "../atomic_file.hpp"
#include "../fail.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace troupe {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view prefix = "step-";
constexpr std::string_view suffix = ".safetensors";
constexpr std::size_t digits = 9; // more when a step needs them

std::optional<std::int64_t> step_of(std::string_view name) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix) ||
      name.size() < prefix.size() + digits + suffix.size())
    return std::nullopt;
  const auto number = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  std::int64_t step = 0;
  const auto parsed = std::from_chars(number.data(), number.data() + number.size(), step);
  if (parsed.ec != std::errc{} || parsed.ptr != number.data() + number.size() || step < 0)
    return std::nullopt;
  return step;
}

/// Files in a folder, and why they are not all: no error when there is no folder.
std::vector<fs::path> files_in(const fs::path& folder, std::error_code& error) {
  std::vector<fs::path> files;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (std::error_code ignored; !at->is_directory(ignored))
      files.push_back(at->path());
  if (error == std::errc::no_such_file_or_directory)
    error.clear();
  return files;
}

/// For callers that can go on without these files: newest_valid() reports a folder that cannot be
/// read, and writing to it gives the error.
std::vector<fs::path> files_in(const fs::path& folder) {
  std::error_code ignored;
  return files_in(folder, ignored);
}

} // namespace

CheckpointStore::CheckpointStore(fs::path folder) : folder_(std::move(folder)) {}

fs::path CheckpointStore::path_of(std::int64_t step) const {
  return folder_ / fmt::format("{}{:09}{}", prefix, step, suffix);
}

Status CheckpointStore::make_folder() const {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error)
    return fail(error == std::errc::no_space_on_device ? Errc::no_space : Errc::io,
                "cannot make the folder {}: {}", folder_.string(), error.message());
  return {};
}

Result<CheckpointWriter> CheckpointStore::begin(const CheckpointHeader& header) const {
  TROUPE_TRY(make_folder());
  return CheckpointWriter::create(path_of(header.step), header);
}

Result<CheckpointStore::Entry> CheckpointStore::finish(CheckpointWriter& writer,
                                                       std::int64_t step) {
  Entry entry{step, path_of(step)};
  TROUPE_TRY(writer.commit());
  remember(entry);
  return entry;
}

Result<CheckpointStore::Entry> CheckpointStore::save(const Checkpoint& checkpoint) {
  TROUPE_TRY(make_folder());
  Entry entry{checkpoint.step, path_of(checkpoint.step)};
  TROUPE_TRY(write_checkpoint(entry.path, checkpoint));
  remember(entry);
  return entry;
}

std::vector<CheckpointStore::Entry> CheckpointStore::list() const {
  std::vector<Entry> entries;
  for (auto& file : files_in(folder_))
    if (const auto step = step_of(file.filename().string()))
      entries.push_back({*step, std::move(file)});
  std::ranges::sort(entries, std::ranges::greater{}, &Entry::step);
  return entries;
}

CheckpointStore::Newest CheckpointStore::newest_valid() {
  Newest newest;
  if (std::error_code error; files_in(folder_, error), error)
    newest.skipped.push_back({Errc::io, fmt::format("cannot read the folder {}: {}",
                                                    folder_.string(), error.message())});
  for (const auto& file : temporaries())
    newest.skipped.push_back(
        {Errc::corrupt, fmt::format("{}: a checkpoint that was never finished", file.string())});
  for (auto& entry : list()) {
    auto checkpoint = read_checkpoint(entry.path);
    if (checkpoint) {
      remember(entry);
      newest.entry = std::move(entry);
      newest.checkpoint = std::move(*checkpoint);
      break;
    }
    newest.skipped.push_back(std::move(checkpoint).error());
  }
  return newest;
}

Result<std::vector<CheckpointStore::Entry>> CheckpointStore::prune(std::int64_t keep) {
  const auto entries = list();
  const auto kept = static_cast<std::size_t>(std::max<std::int64_t>(keep, 1));
  std::vector<Entry> deleted;
  if (entries.size() <= kept)
    return deleted;
  TROUPE_TRY(const auto spared, find_newest_valid(entries));
  for (std::size_t i = kept; i < entries.size(); ++i) {
    if (i == spared)
      continue;
    std::error_code error;
    if (fs::remove(entries[i].path, error))
      deleted.push_back(entries[i]);
    if (error)
      return fail(Errc::io, "cannot delete {}: {}", entries[i].path.string(), error.message());
  }
  return deleted;
}

Result<std::vector<fs::path>> CheckpointStore::remove_temporaries() {
  std::vector<fs::path> removed;
  for (auto& file : temporaries()) {
    std::error_code error;
    fs::remove(file, error);
    if (error)
      return fail(Errc::io, "cannot delete {}: {}", file.string(), error.message());
    removed.push_back(std::move(file));
  }
  return removed;
}

std::vector<fs::path> CheckpointStore::temporaries() const {
  std::vector<fs::path> found;
  for (auto& file : files_in(folder_))
    if (const auto target = AtomicFile::target_of(file.filename());
        target && step_of(target->string()))
      found.push_back(std::move(file));
  std::ranges::sort(found);
  return found;
}

Result<std::size_t> CheckpointStore::find_newest_valid(const std::vector<Entry>& entries) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (is_verified(entries[i]))
      return i;
    const auto checkpoint = read_checkpoint(entries[i].path);
    if (checkpoint) {
      remember(entries[i]);
      return i;
    }
    // A file that could not be read now may still be the newest valid one.
    if (checkpoint.error().code != Errc::corrupt)
      return failure(checkpoint.error());
  }
  return entries.size();
}

bool CheckpointStore::is_verified(const Entry& entry) const {
  if (!verified_ || verified_->path != entry.path)
    return false;
  std::error_code size_error, time_error;
  return verified_->size == fs::file_size(entry.path, size_error) &&
         verified_->written == fs::last_write_time(entry.path, time_error) && !size_error &&
         !time_error;
}

void CheckpointStore::remember(const Entry& entry) {
  std::error_code error;
  const auto size = fs::file_size(entry.path, error);
  const auto written = error ? fs::file_time_type{} : fs::last_write_time(entry.path, error);
  verified_.reset();
  if (!error)
    verified_ = Verified{entry.path, size, written};
}

} // namespace troupe
