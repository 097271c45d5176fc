/// Column names of a table, and error messages about missing columns.
#pragma once

#include "data/detail/csv_parser.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::data {

/// The first record of a CSV file.
class CsvHeader {
public:
  /// `file` and `text` (the whole file) are used in messages.
  CsvHeader(std::string file, std::string_view text, char delimiter, const CsvRow& row);

  std::size_t columns() const { return names_.size(); }
  const std::string& name(std::size_t column) const { return names_[column]; }
  /// Returns the index of a column. Errors: Errc::data if no column or several columns have the
  /// name. The message lists the columns, the closest name and the delimiter that the file seems to
  /// use.
  Result<std::size_t> find(const std::string& column) const;

private:
  Status missing(const std::string& column) const;
  std::string advice(const std::string& column) const;

  std::string file_;
  std::string_view text_;
  char delimiter_;
  std::size_t line_;
  std::vector<std::string> names_;
};

} // namespace troupe::data
