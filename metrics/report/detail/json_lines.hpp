/// A file of one JSON object a line that survives its writer's death.
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

/// Each line is handed to the operating system at once (3 µs), so a killed process loses none.
class JsonLines {
public:
  /// Opens or makes the file, which `keep` is shown line by line: all from the first line on that
  /// it does not want is cut off. `aside`, unless empty, is a file that gets what is cut off; lines
  /// of it that `keep` wants now come back. Errors: invalid_input when another process writes it,
  /// or it is a symbolic link; io; no_space.
  static Result<JsonLines> open(const std::filesystem::path& path,
                                const std::function<bool(std::string_view)>& keep,
                                const std::filesystem::path& aside = {});

  /// The same where another process may still write the file: it goes on with one that has no name
  /// any more. The new one is written in `drafts` first (core/staging.hpp).
  static Result<JsonLines> take_over(const std::filesystem::path& path,
                                     const std::filesystem::path& staging,
                                     const std::function<bool(std::string_view)>& keep,
                                     const std::filesystem::path& aside = {});

  /// Lines that were kept, with those that came back.
  std::int64_t kept() const { return kept_; }

  /// An object without its line's end. After an error the file ends with the last whole line, and
  /// this one waits for the next attempt.
  Status append(std::string_view object);
  /// Writes what waits. Error: it cannot be written yet, or was too much to wait (16 MiB).
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
  std::string waiting_;          ///< lines that are not written
  std::optional<Error> dropped_; ///< why there are fewer of them than there were
};

/// Error: invalid_input, where another process has the file open as JsonLines.
Status check_not_written(const std::filesystem::path& path);

/// Whether a process has the file open as JsonLines.
bool is_being_written(const std::filesystem::path& path);

/// Shows the lines of a file, one after the other. What stands after the last line's end was not
/// written whole, and is not shown. The callback says whether to go on.
void for_each_line(const std::filesystem::path& path,
                   const std::function<bool(std::string_view)>& see);

} // namespace troupe::metrics
