/// Column names of a table, and messages about those that it lacks.
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
  /// `file` and `text` (the whole file) are for messages.
  CsvHeader(std::string file, std::string_view text, char delimiter, const CsvRow& row);

  std::size_t columns() const { return names_.size(); }
  const std::string& name(std::size_t column) const { return names_[column]; }
  /// Index of a column. Errors: Errc::data, with the columns there are, the nearest of them and the
  /// delimiter that seems meant, or if several columns have the name.
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
