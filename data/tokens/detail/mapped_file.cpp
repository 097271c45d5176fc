#include "data/tokens/detail/mapped_file.hpp"

#include "core/escape.hpp"
#include "core/fail.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace troupe::data {

namespace {

tl::unexpected<Error> cannot_map(const std::filesystem::path& path, int number) {
  return fail(number == ENOENT ? Errc::data : Errc::io, "{}: cannot be opened: {}",
              echoed(path.string()), std::strerror(number));
}

Result<std::span<const std::byte>> map(const std::filesystem::path& path, int descriptor) {
  struct ::stat status {};
  if (::fstat(descriptor, &status) != 0)
    return cannot_map(path, errno);
  if (!S_ISREG(status.st_mode))
    return fail(Errc::data, "{}: not a regular file", echoed(path.string()));
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) // mmap refuses an empty file
    return std::span<const std::byte>{};
  void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED)
    return cannot_map(path, errno);
  return std::span{static_cast<const std::byte*>(memory), size};
}

} // namespace

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return cannot_map(path, errno);
  const auto bytes = map(path, descriptor);
  ::close(descriptor);
  if (!bytes)
    return failure(bytes.error());
  return MappedFile{*bytes};
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : bytes_{std::exchange(other.bytes_, std::span<const std::byte>{})} {}

MappedFile::~MappedFile() {
  if (!bytes_.empty())
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

} // namespace troupe::data
