/// Classes of a table's rows: numbers, or words that are mapped to numbers.
#pragma once

#include "core/error.hpp"
#include "data/detail/csv_file.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace troupe::data {

/// Returns "0" to `count - 1`.
std::vector<std::string> numbered_classes(std::int64_t count);

/// A column of classes in a file.
struct ClassColumn {
  std::string file, name;
  std::span<const std::string> cells; ///< by row
  std::span<const std::size_t> lines; ///< by row
};

/// Returns the names of the classes by label. If every cell is a number or a missing value (`NA`),
/// these are numbered_classes. Otherwise they are the distinct words, in byte order; words such as
/// `NA` are included only if that makes `count` words. Errors: Errc::data unless there are `count`
/// words.
Result<std::vector<std::string>> find_classes(const ClassColumn& column, std::int64_t count);

/// Returns the label of each row. A cell is the name of a class. In a file in which no cell is a
/// class name, cells are numeric labels. Errors: Errc::data with file, line and column for any
/// other cell.
Result<std::vector<std::int32_t>> labels_of(const ClassColumn& column,
                                            std::span<const std::string> classes);

} // namespace troupe::data
