#include "json_lines.hpp"

#include "troupe/core/fail.hpp"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <fstream>

#include <fcntl.h>
#include <sys/file.h>

namespace troupe::metrics {

namespace {

bool is_full(int number) {
  return number == ENOSPC || number == EDQUOT || number == EFBIG;
}

/// Negative: not an object with that key.
std::int64_t key_of(const std::string& line, std::string_view key) {
  const auto object = nlohmann::json::parse(line, nullptr, false);
  if (!object.is_object())
    return -1;
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : -1;
}

} // namespace

Result<JsonLines> JsonLines::open(const std::filesystem::path& path, std::string_view key,
                                  std::int64_t end) {
  net::Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!file)
    return fail(is_full(errno) ? Errc::no_space : Errc::io, "cannot open {}: {}", path.string(),
                std::strerror(errno));
  if (::flock(file.number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return fail(Errc::invalid_input,
                "{} is being written by another process; give this run another run.name",
                path.string());
  JsonLines lines(path, std::move(file));
  TROUPE_TRY(lines.cut(key, end));
  return lines;
}

Status JsonLines::cut(std::string_view key, std::int64_t end) {
  std::ifstream in(path_, std::ios::binary);
  std::int64_t lines = 0, last = -1;
  // A line that ends the file without a newline was not written whole.
  for (std::string line; std::getline(in, line) && !in.eof(); ++lines) {
    const auto value = key_of(line, key);
    if (value <= last || value >= end)
      break;
    last = value;
    size_ += std::ssize(line) + 1;
  }
  missing_ = end - lines;
  if (::ftruncate(file_.number(), size_) != 0)
    return fail(Errc::io, "cannot cut {} to {} bytes: {}", path_.string(), size_,
                std::strerror(errno));
  return {};
}

Status JsonLines::append(std::string_view object) {
  std::string line(object);
  line += '\n';
  std::string_view left = line;
  while (!left.empty()) {
    const auto count = ::write(file_.number(), left.data(), left.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0) {
      const int number = errno;
      // Half a line would spoil the ones that are written when there is room again.
      const bool cut = ::ftruncate(file_.number(), size_) == 0;
      return fail(is_full(number) ? Errc::no_space : Errc::io, "cannot write {}: {}{}",
                  path_.string(), std::strerror(number),
                  cut ? "" : " (its last line is incomplete)");
    }
    left.remove_prefix(static_cast<std::size_t>(count));
  }
  size_ += std::ssize(line);
  return {};
}

} // namespace troupe::metrics
