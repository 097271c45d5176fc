#include "atomic_file.hpp"

#include "fail.hpp"
#include "printable.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace troupe {

namespace {

constexpr std::string_view mark = ".tmp-";

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path{"."};
}

Errc code_of(int number) {
  return number == ENOSPC || number == EDQUOT || number == EFBIG ? Errc::no_space : Errc::io;
}

/// A rename is on the disk once its folder is. A file system that cannot flush folders gives no
/// error.
bool flush_folder(const std::filesystem::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return errno == EACCES; // writable but not readable: nothing more can be done
  const bool flushed = ::fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP;
  const int number = errno;
  ::close(descriptor);
  errno = number;
  return flushed;
}

} // namespace

AtomicFile::AtomicFile(std::filesystem::path path, std::filesystem::path temporary, int descriptor)
    : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::move(other.temporary_)),
      descriptor_(std::exchange(other.descriptor_, -1)), bytes_written_(other.bytes_written_) {}

AtomicFile::~AtomicFile() {
  abandon();
}

Result<AtomicFile> AtomicFile::create(const std::filesystem::path& path) {
  if (std::error_code error; std::filesystem::is_directory(path, error))
    return fail(Errc::io, "cannot create {}: {}", echoed(path.string()), std::strerror(EISDIR));
  auto temporary = path;
  temporary += fmt::format("{}{}", mark, ::getpid());
  // A file that has this name already was left by a dead process whose number has come round.
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (const int number = errno; descriptor < 0)
    return fail(code_of(number), "cannot create {}: {}", echoed(temporary.string()),
                std::strerror(number));
  return AtomicFile(path, std::move(temporary), descriptor);
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
  if (descriptor_ < 0)
    return fail(Errc::internal, "{} is written after its end", path_.string());
  while (!bytes.empty()) {
    const auto count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return failed("write");
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    bytes_written_ += static_cast<std::uint64_t>(count);
  }
  return {};
}

Status AtomicFile::overwrite(std::uint64_t offset, std::string_view text) {
  if (descriptor_ < 0 || offset + text.size() > bytes_written_)
    return fail(Errc::internal, "{} has no bytes at {} to be written again", path_.string(),
                offset);
  while (!text.empty()) {
    const auto count = ::pwrite(descriptor_, text.data(), text.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return failed("write");
    text.remove_prefix(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return {};
}

Status AtomicFile::commit() {
  if (descriptor_ < 0)
    return fail(Errc::internal, "{} is committed twice", path_.string());
  auto status = Status{};
  if (::fsync(descriptor_) != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    status = failed("write");
    abandon();
    return status;
  }
  if (!flush_folder(folder_of(path_)))
    status = failed("flush the folder of");
  ::close(std::exchange(descriptor_, -1));
  return status;
}

std::optional<std::filesystem::path> AtomicFile::target_of(const std::filesystem::path& temporary) {
  const auto name = temporary.filename().string();
  const auto at = name.rfind(mark);
  if (at == std::string::npos || at == 0 || at + mark.size() == name.size() ||
      !std::all_of(name.begin() + static_cast<std::ptrdiff_t>(at + mark.size()), name.end(),
                   [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  return temporary.parent_path() / name.substr(0, at);
}

Status AtomicFile::failed(std::string_view doing) const {
  return fail(code_of(errno), "cannot {} {} after {} bytes: {}", doing, path_.string(),
              bytes_written_, std::strerror(errno));
}

void AtomicFile::abandon() {
  if (descriptor_ < 0)
    return;
  ::close(std::exchange(descriptor_, -1));
  ::unlink(temporary_.c_str());
}

Status write_file_atomically(const std::filesystem::path& path, std::string_view text) {
  TROUPE_TRY(auto file, AtomicFile::create(path));
  TROUPE_TRY(file.write(text));
  return file.commit();
}

} // namespace troupe
