#include "core/drafts.hpp"

#include "core/fail.hpp"
#include "core/printable.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

namespace troupe {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view drafts_prefix = ".drafts-";

tl::unexpected<Error> not_done(std::string_view doing, const fs::path& path,
                               const std::error_code& error) {
  return fail(error == std::errc::no_space_on_device ? Errc::no_space : Errc::io,
              "cannot {} {}: {}", doing, echoed(path.string()), error.message());
}

/// Another process may make files there while this one removes them, or remove them, too.
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

/// Of a writer's folder: "12-5c377464" after the prefix.
std::int64_t number_of(const fs::path& drafts) {
  const auto name = drafts.filename().string();
  std::int64_t number = 0;
  std::from_chars(name.data() + drafts_prefix.size(), name.data() + name.size(), number);
  return number;
}

Result<std::vector<fs::path>> drafts_beside(const fs::path& own) {
  const auto run = own.parent_path();
  std::error_code error;
  std::vector<fs::path> drafts;
  for (fs::directory_iterator at(run, error), end; !error && at != end; at.increment(error))
    if (at->path().filename().string().starts_with(drafts_prefix) && at->path() != own)
      drafts.push_back(at->path());
  if (error)
    return not_done("read", run, error);
  return drafts;
}

Status make_drafts(const fs::path& folder) {
  std::error_code error;
  fs::create_directory(folder, error);
  return error ? Status{not_done("make", folder, error)} : Status{};
}

} // namespace

fs::path drafts_of(const fs::path& run, std::string_view writer) {
  return run / fmt::format("{}{}", drafts_prefix, writer);
}

void withdraw_drafts(const fs::path& run, std::string_view writer) {
  std::error_code ignored; // the next one that writes there removes it
  fs::remove_all(drafts_of(run, writer), ignored);
}

void remove_earlier_drafts(const fs::path& run, std::string_view writer) {
  const auto current = drafts_of(run, writer);
  const auto others = drafts_beside(current);
  if (!others)
    return;
  std::error_code ignored;
  for (const auto& other : *others)
    if (number_of(other) < number_of(current))
      fs::remove_all(other, ignored);
}

/// It is made before others are looked for: of two that do so at least one sees the other.
Status claim_drafts(const fs::path& run, std::string_view writer, Claim claim) {
  const auto own = drafts_of(run, writer);
  TROUPE_TRY(remove_folder(own));
  TROUPE_TRY(make_drafts(own));
  TROUPE_TRY(const auto others, drafts_beside(own));
  const auto is_later = [&](const fs::path& other) { return number_of(other) > number_of(own); };
  if (claim == Claim::takes_over && std::ranges::any_of(others, is_later)) {
    TROUPE_TRY(remove_folder(own));
    return fail(Errc::network, "a later leader writes to {} already", echoed(run.string()));
  }
  for (const auto& other : others)
    TROUPE_TRY(remove_folder(other));
  return {};
}

} // namespace troupe
