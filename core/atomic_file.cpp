#include "core/atomic_file.hpp"

#include "core/escape.hpp"
#include "core/fail.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <tuple>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace troupe {

namespace {

constexpr std::string_view mark = ".tmp-";

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path{"."};
}

/// Flushes the folder: a rename is durable only after that. Succeeds on file systems that cannot
/// flush folders.
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

Errc code_of_write(int number) {
  return number == ENOSPC || number == EDQUOT || number == EFBIG ? Errc::no_space : Errc::io;
}

AtomicFile::AtomicFile(std::filesystem::path path, std::filesystem::path temporary, int descriptor)
    : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::move(other.temporary_)),
      descriptor_(std::exchange(other.descriptor_, -1)), bytes_written_(other.bytes_written_),
      flushing_(other.flushing_) {}

AtomicFile::~AtomicFile() {
  abandon();
}

Result<AtomicFile> AtomicFile::create(const std::filesystem::path& path,
                                      const std::filesystem::path& staging) {
  if (std::error_code error; std::filesystem::is_directory(path, error))
    return fail(Errc::io, "cannot create {}: {}", echoed(path.string()), std::strerror(EISDIR));
  auto temporary = temporary_name(staging.empty() ? path : staging / path.filename());
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (const int number = errno; descriptor < 0)
    return fail(code_of_write(number), "cannot create {}: {}", echoed(temporary.string()),
                std::strerror(number));
  return AtomicFile(path, std::move(temporary), descriptor);
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
  if (descriptor_ < 0)
    return fail(Errc::internal, "{} is written after its commit", path_.string());
  return write_at(bytes_written_, bytes);
}

Status AtomicFile::overwrite(std::uint64_t at, std::span<const std::byte> bytes) {
  if (descriptor_ < 0 || at + bytes.size() > bytes_written_)
    return fail(Errc::internal, "{} does not contain {} bytes at offset {}", path_.string(),
                bytes.size(), at);
  return write_at(at, bytes);
}

Status AtomicFile::write_at(std::uint64_t at, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto count = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return failed("write");
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    at += static_cast<std::uint64_t>(count);
    bytes_written_ = std::max(bytes_written_, at);
    begin_flush();
  }
  return {};
}

/// Starts writing the bytes to the disk, so that commit() does not wait for all of them.
void AtomicFile::begin_flush() {
  constexpr std::uint64_t enough = std::uint64_t{8} << 20;
  if (bytes_written_ - flushing_ < enough)
    return;
  // If this is not possible, commit() waits longer.
  std::ignore =
      ::sync_file_range(descriptor_, static_cast<off64_t>(flushing_),
                        static_cast<off64_t>(bytes_written_ - flushing_), SYNC_FILE_RANGE_WRITE);
  flushing_ = bytes_written_;
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

/// The name is random: processes on hosts that share a folder may have the same process ID, as in
/// containers.
std::filesystem::path temporary_name(std::filesystem::path path) {
  std::random_device random;
  path += fmt::format("{}{}{:010}", mark, random(), random());
  return path;
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
  return fail(code_of_write(errno), "cannot {} {} after {} bytes: {}", doing, path_.string(),
              bytes_written_, std::strerror(errno));
}

void AtomicFile::abandon() {
  if (descriptor_ < 0)
    return;
  ::close(std::exchange(descriptor_, -1));
  ::unlink(temporary_.c_str());
}

Status write_file_atomically(const std::filesystem::path& path, std::string_view text,
                             const std::filesystem::path& staging) {
  TROUPE_TRY(auto file, AtomicFile::create(path, staging));
  TROUPE_TRY(file.write(text));
  return file.commit();
}

Status make_folders(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  return error ? fail(code_of_write(error.value()), "cannot create the folder {}: {}",
                      echoed(folder.string()), error.message())
               : Status{};
}

Status rename_folder_atomically(const std::filesystem::path& from,
                                const std::filesystem::path& to) {
  const auto failed = [&](int number) {
    return fail(code_of_write(number), "cannot rename {} to {}: {}", echoed(from.string()),
                echoed(to.string()), std::strerror(number));
  };
  if (!flush_folder(from))
    return failed(errno);
  const bool replaces =
      ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0;
  std::error_code error;
  if (!replaces && errno != ENOENT) // a file system that cannot exchange names
    std::filesystem::remove_all(to, error);
  if (!replaces && ::rename(from.c_str(), to.c_str()) != 0)
    return failed(errno);
  if (!flush_folder(folder_of(to)))
    return failed(errno);
  if (replaces)
    std::filesystem::remove_all(from, error);
  return error ? fail(Errc::io, "cannot delete {}: {}", echoed(from.string()), error.message())
               : Status{};
}

} // namespace troupe
