#include "drafts.hpp"

#include "fail.hpp"
#include "printable.hpp"

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

/// Another process may make files there while this one removes them.
Status remove_folder(const fs::path& folder) {
  constexpr int tries = 100;
  std::error_code error;
  for (int i = 0; i < tries; ++i) {
    fs::remove_all(folder, error);
    if (!error)
      return {};
    if (error != std::errc::directory_not_empty)
      break;
  }
  return not_done("remove", folder, error);
}

} // namespace

fs::path drafts_of(const fs::path& run, std::string_view writer) {
  return run / fmt::format("{}{}", drafts_prefix, writer);
}

Status claim_drafts(const fs::path& run, std::string_view writer) {
  std::error_code error;
  std::vector<fs::path> drafts;
  for (fs::directory_iterator at(run, error), end; !error && at != end; at.increment(error))
    if (at->path().filename().string().starts_with(drafts_prefix))
      drafts.push_back(at->path());
  if (error)
    return not_done("read", run, error);
  for (const auto& folder : drafts)
    TROUPE_TRY(remove_folder(folder));
  fs::create_directory(drafts_of(run, writer), error);
  if (error)
    return not_done("make", drafts_of(run, writer), error);
  return {};
}

} // namespace troupe
