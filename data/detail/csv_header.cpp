#include "data/detail/csv_header.hpp"

#include "core/config/data.hpp"
#include "core/suggestion.hpp"
#include "data/detail/csv_number.hpp"
#include "data/detail/name_list.hpp"

#include <algorithm>

namespace troupe::data {

namespace {

using Names = std::vector<std::string>;

Names names_of(const CsvRow& row) {
  Names names;
  for (const auto& cell : row.cells)
    names.emplace_back(trimmed(cell));
  return names;
}

/// Returns the column names of the first record, parsed with another delimiter; empty if that
/// fails.
Names names_with(std::string_view text, char delimiter) {
  Names names;
  // The error that ends the parse after one record is never reported.
  (void)parse_csv({}, text, delimiter, [&](const CsvRow& row) -> Status {
    names = names_of(row);
    return fail(Errc::stopped, "one record is enough");
  });
  return names;
}

bool all_numbers(const Names& names) {
  return std::ranges::all_of(names,
                             [](const auto& name) { return parse_finite(name).has_value(); });
}

} // namespace

CsvHeader::CsvHeader(std::string file, std::string_view text, char delimiter, const CsvRow& row)
    : file_{std::move(file)}, text_{text}, delimiter_{delimiter}, line_{row.line}, names_{names_of(
                                                                                       row)} {}

Result<std::size_t> CsvHeader::find(const std::string& column) const {
  const auto found = std::ranges::find(names_, column);
  if (found == names_.end())
    return failure(missing(column).error());
  if (const auto count = std::ranges::count(names_, column); count > 1)
    return fail(Errc::data, "{}:{}: {} columns have the name \"{}\"", file_, line_, count,
                echoed(column));
  return static_cast<std::size_t>(found - names_.begin());
}

Status CsvHeader::missing(const std::string& column) const {
  return fail(Errc::data, "{}:{}: there is no column \"{}\"; the {} {}{}", file_, line_,
              echoed(column), names_.size() == 1 ? "only column is" : "columns are",
              quoted_list(names_), advice(column));
}

std::string CsvHeader::advice(const std::string& column) const {
  for (const auto delimiter : choice_words<Delimiter>) {
    const auto character = character_of(*choice_named<Delimiter>(delimiter));
    const auto names = character == delimiter_ ? Names{} : names_with(text_, character);
    const bool has_column = std::ranges::find(names, column) != names.end();
    if (has_column || (names_.size() == 1 && names.size() > 1 && character != ' '))
      return fmt::format("; the delimiter seems to be a {0}: set data.table.delimiter: {0}",
                         delimiter);
  }
  if (const auto near = suggest(column, names_); !near.empty())
    return fmt::format("; did you mean \"{}\"?", echoed(near));
  return all_numbers(names_) ? "; the first line must contain the names of the columns" : "";
}

} // namespace troupe::data
