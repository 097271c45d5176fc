/// Counts files and folders of a data set that are not read, by kind.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace troupe::data {

struct LeftOut {
  std::int64_t hidden = 0; ///< files and folders whose names begin with a dot
  /// Other unread files by kind: ".bmp" (in lower case), "without extension", "broken link".
  std::map<std::string, std::int64_t> unread;

  void add_unread(const std::filesystem::path& file);
  void add(const LeftOut& others);

  /// Returns "12 files are not read: 9 .bmp, 3 without extension"; empty if all files are read.
  std::string unread_text() const;
};

} // namespace troupe::data
