/// Reads columns of a CSV file by name.
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
  std::vector<std::string> numbers;      ///< names of numeric columns
  std::optional<std::string> words = {}; ///< name of a text column
  char delimiter = ',';
};

/// The cells of these columns in all rows.
struct CsvColumns {
  std::vector<double> numbers;    ///< row-major, in the order of the query
  std::vector<std::string> words; ///< by row; empty without a text column
  std::vector<std::size_t> lines; ///< line where each row begins
};

/// Reads the columns of the query; other columns may contain anything. A cell is quoted if its
/// first character is a quote; inside it, a doubled quote stands for one quote. A quote anywhere
/// else is text. Spaces and tabs around a cell, empty lines and a byte order mark are skipped. LF,
/// CRLF and CR end a line. Errors: those of read_file and expect_text; Errc::data, with file, line
/// and column, for a quoted cell without an end, text after a closing quote, a column that is
/// missing or occurs twice, a row with more or fewer cells than the header, an empty cell, a cell
/// that is not a finite number, and a file without rows.
Result<CsvColumns> read_csv(const std::filesystem::path& path, const CsvQuery& query);

} // namespace troupe::data
