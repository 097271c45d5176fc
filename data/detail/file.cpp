#include "data/detail/file.hpp"

#include "core/escape.hpp"
#include "core/fail.hpp"
#include "core/git_lfs.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

namespace troupe::data {

namespace fs = std::filesystem;

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t packed_piece = std::size_t{64} << 10;
constexpr std::size_t unpacked_piece = std::size_t{1} << 20;

std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode))
    return "a folder";
  if (S_ISFIFO(mode))
    return "a pipe";
  if (S_ISSOCK(mode))
    return "a socket";
  return "a device";
}

Status expect_regular(const fs::path& path, const struct ::stat& status) {
  if (!S_ISREG(status.st_mode))
    return fail(Errc::data, "{}: it is {}, not a regular file", path.string(),
                kind_of(status.st_mode));
  return {};
}

tl::unexpected<Error> cannot_open(const fs::path& path, int number) {
  if (number == ENOENT)
    return fail(Errc::data, "{}: there is no such file", path.string());
  return fail(Errc::io, "{}: cannot be opened: {}", path.string(), std::strerror(number));
}

Status refuse_git_lfs_pointer(const fs::path& path, int descriptor, std::uint64_t bytes) {
  if (bytes >= most_git_lfs_pointer_bytes)
    return {};
  std::string begin(bytes, '\0');
  const auto count = ::pread(descriptor, begin.data(), begin.size(), 0);
  begin.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  if (is_git_lfs_pointer(begin))
    return fail(Errc::data, "{}: {}", echoed(path.string()), git_lfs_advice);
  return {};
}

struct Inflater {
  z_stream stream = {};
  bool ready = inflateInit2(&stream, 16 + MAX_WBITS) == Z_OK; // 16: expects a gzip header
  Inflater() = default;
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (ready)
      inflateEnd(&stream);
  }
};

/// Decompresses into `bytes` until it has `most` bytes. Returns zlib's state: Z_OK, or the code
/// that ended the stream.
Result<int> unpack(InputFile& file, Bytes packed, std::uint64_t most, z_stream& stream,
                   Bytes& bytes) {
  stream.next_in = packed.data();
  stream.avail_in = static_cast<uInt>(packed.size());
  int state = Z_OK;
  while (state == Z_OK && bytes.size() < most) {
    if (stream.avail_in == 0) {
      packed.resize(packed_piece);
      TROUPE_TRY(const auto count, file.read(packed));
      stream.next_in = packed.data();
      stream.avail_in = static_cast<uInt>(count);
    }
    const auto done = bytes.size();
    bytes.resize(done + std::min<std::uint64_t>(most - done, unpacked_piece));
    stream.next_out = bytes.data() + done;
    stream.avail_out = static_cast<uInt>(bytes.size() - done);
    state = inflate(&stream, Z_NO_FLUSH);
    bytes.resize(bytes.size() - stream.avail_out);
  }
  return state;
}

Result<Bytes> read_packed(const fs::path& path, InputFile& file, Bytes begin, std::uint64_t most) {
  Inflater inflater;
  if (!inflater.ready)
    return fail(Errc::internal, "zlib cannot start");
  Bytes bytes;
  TROUPE_TRY(const auto state, unpack(file, std::move(begin), most, inflater.stream, bytes));
  if (state == Z_BUF_ERROR)
    return fail(Errc::data, "{}: the gzip stream ends early, after {} unpacked bytes",
                path.string(), bytes.size());
  if (state != Z_STREAM_END && state != Z_OK)
    return fail(Errc::data, "{}: damaged gzip stream: {}", path.string(),
                inflater.stream.msg != nullptr ? inflater.stream.msg : "no reason given");
  return bytes;
}

} // namespace

Result<InputFile> InputFile::open(const fs::path& path) {
  struct ::stat status {};
  if (::stat(path.c_str(), &status) != 0)
    return cannot_open(path, errno);
  TROUPE_TRY(expect_regular(path, status)); // opening some devices has side effects
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return cannot_open(path, errno);
  InputFile file{path, ::fdopen(descriptor, "rb"), 0};
  if (!file.file_)
    ::close(descriptor);
  if (!file.file_ || ::fstat(descriptor, &status) != 0)
    return cannot_open(path, errno);
  TROUPE_TRY(expect_regular(path, status)); // another file may have replaced it
  file.bytes_ = static_cast<std::uint64_t>(status.st_size);
  TROUPE_TRY(refuse_git_lfs_pointer(path, descriptor, file.bytes_));
  return file;
}

Result<std::size_t> InputFile::read(std::span<std::uint8_t> into) {
  const auto count = std::fread(into.data(), 1, into.size(), file_.get());
  if (count < into.size() && std::ferror(file_.get()) != 0)
    return fail(Errc::io, "{}: cannot be read: {}", path_.string(), std::strerror(errno));
  return count;
}

Result<Bytes> read_file(const fs::path& path) {
  TROUPE_TRY(auto file, InputFile::open(path));
  Bytes bytes(file.bytes());
  TROUPE_TRY(const auto count, file.read(bytes));
  if (count != bytes.size())
    return fail(Errc::io, "{}: the file became shorter while it was read, after {} of {} bytes",
                path.string(), count, bytes.size());
  return bytes;
}

Result<Bytes> read_maybe_gzip(const fs::path& path, std::uint64_t most) {
  TROUPE_TRY(auto file, InputFile::open(path));
  Bytes begin(2);
  TROUPE_TRY(const auto first, file.read(begin));
  if (begin == Bytes{0x1f, 0x8b})
    return read_packed(path, file, std::move(begin), most);
  Bytes bytes(std::min(file.bytes(), most));
  const auto have = std::min<std::uint64_t>(first, bytes.size());
  std::copy_n(begin.begin(), have, bytes.begin());
  TROUPE_TRY(const auto more, file.read(std::span{bytes}.subspan(have)));
  bytes.resize(have + more);
  return bytes;
}

std::string lower_extension(const fs::path& path) {
  auto extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  });
  return extension;
}

std::string fetch_hint(std::string_view name, const fs::path& root) {
  return fmt::format("fetch it with `tools/fetch-data {} {}` (installed: troupe-fetch-data)", name,
                     echoed(root.string()));
}

Status check_root(std::string_view name, const fs::path& root) {
  std::error_code ignored;
  if (root.empty())
    return fail(Errc::data, "data.root is empty: it must name the folder of the {} files; {}", name,
                fetch_hint(name, fs::path{"data"} / name));
  if (!fs::is_directory(root, ignored))
    return fail(Errc::data, "{}: there is no such folder (data.root); {}", echoed(root.string()),
                fetch_hint(name, root));
  return {};
}

} // namespace troupe::data
