#include "metrics/report/detail/json_lines.hpp"

#include "core/atomic_file.hpp"
#include "core/fail.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>

namespace troupe::metrics {

namespace {

/// Does not follow symbolic links: the target would be truncated.
Result<net::Descriptor> open_to_append(const std::filesystem::path& path) {
  constexpr int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
  net::Descriptor file(::open(path.c_str(), flags, 0666));
  if (file)
    return file;
  if (errno == ELOOP)
    return fail(Errc::invalid_input,
                "{} is a symbolic link, which a run does not write to; remove it", path.string());
  return fail(code_of_write(errno), "cannot open {}: {}", path.string(), std::strerror(errno));
}

/// Retries: is_being_written() holds the lock for a moment.
bool lock(int file) {
  constexpr int tries = 20;
  for (int i = 0; ::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; ++i) {
    if (i == tries)
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  return true; // locked, or the file system has no locks
}

/// Appends the bytes of a file after the first `size` to another.
Status append_rest(const std::filesystem::path& from, std::int64_t size,
                   const std::filesystem::path& to) {
  std::ifstream in(from, std::ios::binary);
  if (!in.seekg(size) || in.peek() == std::ifstream::traits_type::eof())
    return {};
  std::ofstream out(to, std::ios::binary | std::ios::app);
  out << in.rdbuf();
  if (!out.flush())
    return fail(code_of_write(errno), "cannot write {}: {}", to.string(), std::strerror(errno));
  return {};
}

tl::unexpected<Error> written_by_another(const std::filesystem::path& path) {
  return fail(Errc::invalid_input,
              "{} is being written by another process; give this run another run.name",
              path.string());
}

} // namespace

Result<JsonLines> JsonLines::open(const std::filesystem::path& path,
                                  const std::function<bool(std::string_view)>& keep,
                                  const std::filesystem::path& aside) {
  TROUPE_TRY(auto file, open_to_append(path));
  if (!lock(file.number()))
    return written_by_another(path);
  JsonLines lines(path, std::move(file));
  TROUPE_TRY(lines.cut(keep, aside));
  TROUPE_TRY(lines.bring_back(keep, aside));
  return lines;
}

Result<JsonLines> JsonLines::take_over(const std::filesystem::path& path,
                                       const std::filesystem::path& staging,
                                       const std::function<bool(std::string_view)>& keep,
                                       const std::filesystem::path& aside) {
  const auto draft = staging / path.filename();
  std::error_code error;
  if (std::filesystem::exists(path, error))
    std::filesystem::copy_file(path, draft, std::filesystem::copy_options::overwrite_existing,
                               error);
  if (error)
    return fail(Errc::io, "cannot copy {}: {}", path.string(), error.message());
  TROUPE_TRY(auto lines, open(draft, keep, aside));
  std::filesystem::rename(draft, path, error);
  if (error)
    return fail(Errc::io, "cannot write {}: {}", path.string(), error.message());
  lines.path_ = path;
  return lines;
}

Status check_not_written(const std::filesystem::path& path) {
  if (is_being_written(path))
    return written_by_another(path);
  return {};
}

Status JsonLines::cut(const std::function<bool(std::string_view)>& keep,
                      const std::filesystem::path& aside) {
  for_each_line(path_, [&](std::string_view line) {
    if (!keep(line))
      return false;
    ++kept_;
    size_ += std::ssize(line) + 1;
    return true;
  });
  if (!aside.empty())
    TROUPE_TRY(append_rest(path_, size_, aside));
  if (::ftruncate(file_.number(), size_) != 0)
    return fail(Errc::io, "cannot truncate {} to {} bytes: {}", path_.string(), size_,
                std::strerror(errno));
  return {};
}

/// Calls `keep` for each line separately: newer lines may have replaced some of them.
Status JsonLines::bring_back(const std::function<bool(std::string_view)>& keep,
                             const std::filesystem::path& aside) {
  Status written;
  for_each_line(aside, [&](std::string_view line) {
    if (!keep(line))
      return true;
    ++kept_;
    written = append(line);
    return written.has_value();
  });
  return written;
}

Status JsonLines::append(std::string_view object) {
  constexpr std::size_t most = 16 << 20; // lines of one hour on a full disk
  waiting_.append(object).push_back('\n');
  auto written = write_waiting();
  if (!written && waiting_.size() > most) {
    waiting_.clear();
    dropped_ = written.error();
  }
  return written;
}

Status JsonLines::settle() {
  TROUPE_TRY(write_waiting());
  return dropped_ ? Status{failure(*dropped_)} : Status{};
}

Status JsonLines::write_waiting() {
  if (!net::write_all(file_.number(), waiting_)) {
    const int number = errno;
    // An incomplete line would corrupt the lines that are written after it.
    const bool cut = ::ftruncate(file_.number(), size_) == 0;
    return fail(code_of_write(number), "cannot write {}: {}{}", path_.string(),
                std::strerror(number), cut ? "" : " (its last line is incomplete)");
  }
  size_ += std::ssize(waiting_);
  waiting_.clear();
  return {};
}

bool is_being_written(const std::filesystem::path& path) {
  const net::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file && ::flock(file.number(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

void for_each_line(const std::filesystem::path& path,
                   const std::function<bool(std::string_view)>& see) {
  std::ifstream in(path, std::ios::binary);
  for (std::string line; std::getline(in, line) && !in.eof();)
    if (!see(line))
      return;
}

} // namespace troupe::metrics
