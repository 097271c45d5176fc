#include "bench/checkpoints/plain_files.hpp"

#include "core/sha256.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

namespace troupe::bench {

namespace {

constexpr std::size_t most_at_once = std::size_t{1} << 20;

class File {
public:
  File(const std::filesystem::path& path, int flags)
      : descriptor_{::open(path.c_str(), flags | O_CLOEXEC, 0666)} {
    require(descriptor_ >= 0);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { ::close(descriptor_); }

  void write(std::span<const std::byte> piece) const {
    require(::write(descriptor_, piece.data(), piece.size()) == static_cast<ssize_t>(piece.size()));
  }
  void read(std::span<std::byte> piece) const {
    require(::read(descriptor_, piece.data(), piece.size()) == static_cast<ssize_t>(piece.size()));
  }
  void sync() const { require(::fsync(descriptor_) == 0); }

private:
  static void require(bool done) {
    if (!done)
      throw std::system_error{errno, std::generic_category()};
  }
  int descriptor_;
};

} // namespace

void write_hashed(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  const File file{path, O_WRONLY | O_CREAT | O_TRUNC};
  Sha256 sha;
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(bytes.size(), most_at_once));
    sha.update(piece);
    file.write(piece);
    bytes = bytes.subspan(piece.size());
  }
  file.sync();
  static_cast<void>(sha.hex_digest());
}

void write_hashed(const std::filesystem::path& folder,
                  const std::vector<std::span<const std::byte>>& files) {
  std::vector<std::jthread> writers;
  for (std::size_t i = 0; i < files.size(); ++i)
    writers.emplace_back([&, i] { write_hashed(folder / std::to_string(i), files[i]); });
}

void read_hashed(const std::filesystem::path& path, std::span<std::byte> into) {
  const File file{path, O_RDONLY};
  Sha256 sha;
  while (!into.empty()) {
    const auto piece = into.first(std::min(into.size(), most_at_once));
    file.read(piece);
    sha.update(piece);
    into = into.subspan(piece.size());
  }
  static_cast<void>(sha.hex_digest());
}

} // namespace troupe::bench
