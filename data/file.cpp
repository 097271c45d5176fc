#include "file.hpp"

#include "troupe/core/fail.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <zlib.h>

namespace troupe::data {

namespace fs = std::filesystem;

namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

bool is_gzip(const std::vector<std::uint8_t>& bytes) {
  return bytes.size() > 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

struct Inflater {
  z_stream stream = {};
  bool ready = inflateInit2(&stream, 16 + MAX_WBITS) == Z_OK; // 16: a gzip header is expected
  Inflater() = default;
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (ready)
      inflateEnd(&stream);
  }
};

} // namespace

Result<std::vector<std::uint8_t>> read_file(const fs::path& path) {
  const std::unique_ptr<std::FILE, CloseFile> file{std::fopen(path.c_str(), "rb")};
  if (!file)
    return errno == ENOENT
               ? fail(Errc::data, "{}: there is no such file", path.string())
               : fail(Errc::io, "{}: cannot be opened: {}", path.string(), std::strerror(errno));
  std::error_code unknown_size;
  const auto size = fs::file_size(path, unknown_size);
  if (unknown_size)
    return fail(Errc::io, "{}: {}", path.string(), unknown_size.message());
  std::vector<std::uint8_t> bytes(size);
  if (std::fread(bytes.data(), 1, bytes.size(), file.get()) != bytes.size())
    return fail(Errc::io, "{}: reading {} bytes failed: {}", path.string(), bytes.size(),
                std::ferror(file.get()) != 0 ? std::strerror(errno) : "the file became shorter");
  return bytes;
}

Result<std::vector<std::uint8_t>> read_maybe_gzip(const fs::path& path) {
  auto packed = read_file(path);
  if (!packed || !is_gzip(*packed))
    return packed;
  Inflater inflater;
  if (!inflater.ready)
    return fail(Errc::internal, "zlib cannot start");
  inflater.stream.next_in = packed->data();
  inflater.stream.avail_in = static_cast<uInt>(packed->size());
  std::vector<std::uint8_t> bytes;
  int state = Z_OK;
  while (state == Z_OK) {
    const auto done = bytes.size();
    bytes.resize(done + (std::size_t{4} << 20));
    inflater.stream.next_out = bytes.data() + done;
    inflater.stream.avail_out = static_cast<uInt>(bytes.size() - done);
    state = inflate(&inflater.stream, Z_NO_FLUSH);
    bytes.resize(bytes.size() - inflater.stream.avail_out);
  }
  if (state == Z_BUF_ERROR)
    return fail(Errc::data, "{}: the gzip stream ends early, after {} unpacked bytes",
                path.string(), bytes.size());
  if (state != Z_STREAM_END)
    return fail(Errc::data, "{}: damaged gzip stream: {}", path.string(),
                inflater.stream.msg != nullptr ? inflater.stream.msg : "no reason given");
  return bytes;
}

std::string fetch_hint(std::string_view name, const fs::path& root) {
  return fmt::format("fetch it with `tools/fetch-data {} {}` (installed: troupe-fetch-data)", name,
                     root.string());
}

Status check_root(std::string_view name, const fs::path& root) {
  std::error_code ignored;
  if (root.empty())
    return fail(Errc::data, "data.root is empty: it must name the folder of the {} files; {}", name,
                fetch_hint(name, fs::path{"data"} / name));
  if (!fs::is_directory(root, ignored))
    return fail(Errc::data, "{}: there is no such folder (data.root); {}", root.string(),
                fetch_hint(name, root));
  return {};
}

} // namespace troupe::data
