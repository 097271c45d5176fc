/// Classes of a table's rows: numbers, or words that become numbers.
#pragma once

#include "core/error.hpp"
#include "data/detail/csv_file.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace troupe::data {

/// "0" to `count - 1`.
std::vector<std::string> numbered_classes(std::int64_t count);

/// A column of classes in a file.
struct ClassColumn {
  std::string file, name;
  std::span<const std::string> cells; ///< by row
  std::span<const std::size_t> lines; ///< by row
};

/// Names of the classes, by label: numbered_classes if every cell is a number or stands for a
/// missing value (`NA`), else all different words in byte order; words such as `NA` are among them
/// only if that makes `count` words. Errors: Errc::data unless there are `count` words.
Result<std::vector<std::string>> find_classes(const ClassColumn& column, std::int64_t count);

/// Labels, by row. A cell is a class's name; in a file where no cell is one, it is a label as a
/// number. Errors: Errc::data with file, line and column for any other cell.
Result<std::vector<std::int32_t>> labels_of(const ClassColumn& column,
                                            std::span<const std::string> classes);

} // namespace troupe::data
