/// A file with one JSON object a line. Its lines survive a crash of the writer.
#pragma once

#include "core/error.hpp"
#include "core/net/descriptor.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace troupe::metrics {

/// Hands each line to the operating system at once (3 µs), so that a killed process loses none.
class JsonLines {
public:
  /// Opens or creates the file and calls `keep` for each line: cuts off all lines from the first
  /// one that it rejects. `aside`, unless empty, is a file that receives the lines that are cut
  /// off; lines in it that `keep` accepts now are appended again. Errors: invalid_input if another
  /// process writes the file, or it is a symbolic link; io; no_space.
  static Result<JsonLines> open(const std::filesystem::path& path,
                                const std::function<bool(std::string_view)>& keep,
                                const std::filesystem::path& aside = {});

  /// Opens a copy of the file when another process may still write it. Writes the copy in the
  /// folder `staging` (core/staging.hpp), then renames it to `path`: the other process continues to
  /// write a file without a name.
  static Result<JsonLines> take_over(const std::filesystem::path& path,
                                     const std::filesystem::path& staging,
                                     const std::function<bool(std::string_view)>& keep,
                                     const std::filesystem::path& aside = {});

  /// The number of lines that were kept, including those appended again.
  std::int64_t kept() const { return kept_; }

  /// Appends an object and a newline. After an error the file ends with the last whole line, and
  /// the object is queued for the next attempt.
  Status append(std::string_view object);
  /// Writes queued lines. Error: they cannot be written, or exceeded 16 MiB and were dropped.
  Status settle();

private:
  JsonLines(std::filesystem::path path, net::Descriptor file)
      : path_(std::move(path)), file_(std::move(file)) {}
  Status cut(const std::function<bool(std::string_view)>& keep, const std::filesystem::path& aside);
  Status bring_back(const std::function<bool(std::string_view)>& keep,
                    const std::filesystem::path& aside);
  Status write_waiting();

  std::filesystem::path path_;
  net::Descriptor file_;
  std::int64_t size_ = 0; ///< bytes of whole lines
  std::int64_t kept_ = 0;
  std::string waiting_;          ///< queued lines
  std::optional<Error> dropped_; ///< why queued lines were dropped
};

/// Error: invalid_input, if another process has the file open as JsonLines.
Status check_not_written(const std::filesystem::path& path);

/// Whether any process has the file open as JsonLines.
bool is_being_written(const std::filesystem::path& path);

/// Calls `see` for each line of a file until it returns false. Skips an incomplete last line.
void for_each_line(const std::filesystem::path& path,
                   const std::function<bool(std::string_view)>& see);

} // namespace troupe::metrics
