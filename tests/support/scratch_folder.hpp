/// A folder that is removed at the end of a test case, and functions that read and write whole
/// files.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

#include <stdlib.h>

namespace troupe::testing {

class ScratchFolder {
public:
  ScratchFolder() {
    auto name = (std::filesystem::temp_directory_path() / "troupe-XXXXXX").string();
    if (!::mkdtemp(name.data()))
      throw std::runtime_error("cannot make " + name);
    path_ = name;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

private:
  std::filesystem::path path_;
};

inline std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_bytes(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!out.flush())
    throw std::runtime_error("cannot write " + path.string());
}

/// Overwrites in place: thousands of times cheaper than truncating, which some file systems flush.
inline void write_byte(const std::filesystem::path& path, std::size_t at, char byte) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(at));
  if (!file.put(byte).flush())
    throw std::runtime_error("cannot write " + path.string());
}

} // namespace troupe::testing
