#include "metrics/report/history.hpp"

#include "core/escape.hpp"
#include "core/fail.hpp"
#include "core/net/descriptor.hpp"
#include "metrics/report/run_folder.hpp"

#include <cerrno>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace troupe::metrics {

namespace {

namespace fs = std::filesystem;

constexpr std::array files = {run_files::steps, run_files::epochs, run_files::recoveries,
                              run_files::samples};

/// Keeps CAF's messages small, so that heartbeats are not delayed.
constexpr std::size_t most = 32 * 1024;

std::string read_at(const fs::path& path, std::int64_t offset) {
  const net::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string bytes(most, '\0');
  const auto count = file ? ::pread(file.number(), bytes.data(), bytes.size(), offset) : -1;
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return bytes;
}

tl::unexpected<Error> not_kept(const fs::path& path, int number) {
  return fail(number == ENOSPC || number == EDQUOT ? Errc::no_space : Errc::io,
              "cannot keep a copy of the run's history: {}: {}", echoed(path.string()),
              std::strerror(number));
}

} // namespace

HistoryChunk read_history(const fs::path& run, const std::string& opening,
                          const HistoryPlace& there) {
  const bool is_same = there.opening == opening;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto at = is_same ? there.bytes[i] : 0;
    if (auto bytes = read_at(run / files[i], at); !bytes.empty())
      return {opening, static_cast<std::int32_t>(i), at, std::move(bytes)};
  }
  return {.opening = opening};
}

KeptHistory::KeptHistory(const fs::path& run) : run_{run}, folder_{run / ".history"} {}

Status KeptHistory::add(const HistoryChunk& part) {
  const auto file = static_cast<std::size_t>(part.file);
  if (part.opening != place_.opening) {
    remove();
    place_ = {part.opening};
  }
  if (file >= files.size() || part.at != place_.bytes[file])
    return {}; // it will be requested again
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error)
    return not_kept(folder_, error.value());
  const auto path = folder_ / files[file];
  constexpr int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
  const net::Descriptor out(::open(path.c_str(), flags, 0666));
  if (!out)
    return not_kept(path, errno);
  const auto written = ::pwrite(out.number(), part.bytes.data(), part.bytes.size(), part.at);
  if (written < 0)
    return not_kept(path, errno);
  place_.bytes[file] += written;
  return {};
}

/// Lines that a file lacks, and an incomplete last line, are handled when the files are opened.
Status KeptHistory::hand_over() const {
  std::error_code error;
  for (const auto* file : files) {
    fs::remove(run_ / file, error);
    if (fs::exists(folder_ / file, error))
      fs::rename(folder_ / file, run_ / file, error);
    if (error)
      return not_kept(run_ / file, error.value());
  }
  remove();
  return {};
}

void KeptHistory::remove() const {
  std::error_code ignored; // a remaining folder does no harm
  fs::remove_all(folder_, ignored);
}

} // namespace troupe::metrics
