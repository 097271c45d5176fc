#include "core/staging.hpp"

#include "core/escape.hpp"
#include "core/fail.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <system_error>
#include <vector>

namespace troupe {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view staging_prefix = ".drafts-";

tl::unexpected<Error> not_done(std::string_view doing, const fs::path& path,
                               const std::error_code& error) {
  return fail(error == std::errc::no_space_on_device ? Errc::no_space : Errc::io,
              "cannot {} {}: {}", doing, echoed(path.string()), error.message());
}

/// Retries, because another process may create or remove files in the folder at the same time.
Status remove_folder(const fs::path& folder) {
  constexpr int tries = 100;
  std::error_code error;
  for (int i = 0; i < tries; ++i) {
    fs::remove_all(folder, error);
    if (!error)
      return {};
    if (error != std::errc::directory_not_empty && error != std::errc::no_such_file_or_directory)
      break;
  }
  return not_done("remove", folder, error);
}

/// Returns the generation's number in the name of a writer's folder: 12 for "12-5c377464" after the
/// prefix.
std::int64_t number_of(const fs::path& staging) {
  const auto name = staging.filename().string();
  std::int64_t number = 0;
  std::from_chars(name.data() + staging_prefix.size(), name.data() + name.size(), number);
  return number;
}

Result<std::vector<fs::path>> staging_beside(const fs::path& own) {
  const auto run = own.parent_path();
  std::error_code error;
  std::vector<fs::path> staging;
  for (fs::directory_iterator at(run, error), end; !error && at != end; at.increment(error))
    if (at->path().filename().string().starts_with(staging_prefix) && at->path() != own)
      staging.push_back(at->path());
  if (error)
    return not_done("read", run, error);
  return staging;
}

} // namespace

fs::path staging_of(const fs::path& run, std::string_view writer) {
  return run / fmt::format("{}{}", staging_prefix, writer);
}

void withdraw_staging(const fs::path& run, std::string_view writer) {
  std::error_code ignored; // the next writer removes it
  fs::remove_all(staging_of(run, writer), ignored);
}

void remove_earlier_staging(const fs::path& run, std::string_view writer) {
  const auto current = staging_of(run, writer);
  const auto others = staging_beside(current);
  if (!others)
    return;
  std::error_code ignored;
  for (const auto& other : *others)
    if (number_of(other) < number_of(current))
      fs::remove_all(other, ignored);
}

/// Creates its own folder before it looks for others: of two concurrent writers at least one sees
/// the other.
Status claim_staging(const fs::path& run, std::string_view writer, Claim claim) {
  const auto own = staging_of(run, writer);
  TROUPE_TRY(remove_folder(own));
  std::error_code error;
  fs::create_directory(own, error);
  if (error)
    return not_done("make", own, error);
  TROUPE_TRY(const auto others, staging_beside(own));
  const auto is_later = [&](const fs::path& other) { return number_of(other) > number_of(own); };
  if (claim == Claim::takes_over && std::ranges::any_of(others, is_later)) {
    TROUPE_TRY(remove_folder(own));
    return fail(Errc::network, "a newer leader already writes to {}", echoed(run.string()));
  }
  for (const auto& other : others)
    TROUPE_TRY(remove_folder(other));
  return {};
}

} // namespace troupe
