/// A file of one JSON object a line that survives its writer's death.
#pragma once

#include "troupe/core/net/descriptor.hpp"

#include "troupe/core/error.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace troupe::metrics {

/// Every object counts up a whole number, its key: "step" or "epoch". Each line is handed to the
/// operating system at once (3 µs), so a killed process loses none.
class JsonLines {
public:
  /// Opens or makes the file and cuts off all from the first line on that is damaged or whose key
  /// is not below `end`. Errors: invalid_input when another process writes it; io.
  static Result<JsonLines> open(const std::filesystem::path& path, std::string_view key,
                                std::int64_t end);

  /// Keys below `end` that the file does not have: lost with the machine's power.
  std::int64_t missing() const { return missing_; }

  /// An object without its line's end. After an error the file ends with the last whole line.
  Status append(std::string_view object);

private:
  JsonLines(std::filesystem::path path, net::Descriptor file)
      : path_(std::move(path)), file_(std::move(file)) {}
  Status cut(std::string_view key, std::int64_t end);

  std::filesystem::path path_;
  net::Descriptor file_;
  std::int64_t size_ = 0; ///< bytes of whole lines
  std::int64_t missing_ = 0;
};

} // namespace troupe::metrics
