/// Parses records of a CSV file with libcsv.
#pragma once

#include "core/error.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::data {

/// One record. It may span several lines, because a quoted cell may contain line ends.
struct CsvRow {
  std::size_t line = 1; ///< line where the record begins, from 1
  std::vector<std::string> cells;
};

/// Receives a record; an error ends the parse.
using OnCsvRow = std::function<Status(const CsvRow&)>;

/// Calls `on_row` for each record of `text`. A cell is quoted if its first character is a quote;
/// inside it, a doubled quote stands for one quote. A quote anywhere else is text. Spaces and tabs
/// around a cell, empty lines and a byte order mark are skipped. LF, CRLF and CR end a line. `file`
/// is used in messages. Errors: those of `on_row`; Errc::data, with the line, for a quoted cell
/// without an end and for text after a closing quote.
Status parse_csv(std::string_view file, std::string_view text, char delimiter,
                 const OnCsvRow& on_row);

} // namespace troupe::data
