/// Columns of a CSV file, found by their names.
#pragma once

#include "core/error.hpp"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe::data {

/// Columns to read.
struct CsvQuery {
  std::vector<std::string> numbers;      ///< columns of numbers
  std::optional<std::string> words = {}; ///< a column of text
  char delimiter = ',';
};

/// All rows of those columns.
struct CsvColumns {
  std::vector<double> numbers;    ///< row by row, in the order of the query
  std::vector<std::string> words; ///< by row; without a column of text, empty
  std::vector<std::size_t> lines; ///< by row: where it begins
};

/// Other columns may contain anything. Errors: those of read_file, expect_text, parse_csv and
/// CsvHeader::find; Errc::data, with file, line and column, for a row that has more or fewer cells
/// than the header, an empty cell, a cell that is not a finite number, and a file without rows.
Result<CsvColumns> read_csv(const std::filesystem::path& path, const CsvQuery& query);

} // namespace troupe::data
