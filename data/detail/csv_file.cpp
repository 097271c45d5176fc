#include "data/detail/csv_file.hpp"

#include "core/config/data.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "core/suggestion.hpp"
#include "data/detail/csv_number.hpp"
#include "data/detail/csv_parser.hpp"
#include "data/detail/file.hpp"
#include "data/detail/name_list.hpp"
#include "data/detail/text_kind.hpp"

#include <algorithm>

namespace troupe::data {

namespace {

constexpr KindAdvice csv_advice = {.archive = "unpack it, or save the workbook as CSV",
                                   .document = "save its table as CSV first",
                                   .image = "tables are CSV files",
                                   .tokens = "tables are CSV files"};

std::string counted(std::size_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

using ColumnNames = std::vector<std::string>;

ColumnNames names_of(const CsvRow& row) {
  ColumnNames names;
  for (const auto& cell : row.cells)
    names.emplace_back(trimmed(cell));
  return names;
}

/// Returns the column names of the first record, parsed with another delimiter; empty if that
/// fails.
ColumnNames names_with(std::string_view text, char delimiter) {
  ColumnNames names;
  // The error that ends the parse after one record is never reported.
  (void)parse_csv({}, text, delimiter, [&](const CsvRow& row) -> Status {
    names = names_of(row);
    return fail(Errc::stopped, "one record is enough");
  });
  return names;
}

bool all_numbers(const ColumnNames& names) {
  return std::ranges::all_of(names,
                             [](const auto& name) { return parse_finite(name).has_value(); });
}

/// The first record of a CSV file: column names, and error messages about missing ones.
class CsvHeader {
public:
  /// `file` and `text` (the whole file) are used in messages.
  CsvHeader(const std::string& file, std::string_view text, char delimiter, const CsvRow& row)
      : file_{file}, text_{text}, delimiter_{delimiter}, line_{row.line}, names_{names_of(row)} {}

  std::size_t columns() const { return names_.size(); }
  const std::string& name(std::size_t column) const { return names_[column]; }

  /// Returns the index of a column. Errors: Errc::data if no column or several columns have the
  /// name. The message lists the columns, the closest name and the delimiter that the file seems to
  /// use.
  Result<std::size_t> find(const std::string& column) const {
    const auto found = std::ranges::find(names_, column);
    if (found == names_.end())
      return failure(missing(column).error());
    if (const auto count = std::ranges::count(names_, column); count > 1)
      return fail(Errc::data, "{}:{}: {} columns have the name \"{}\"", file_, line_, count,
                  echoed(column));
    return static_cast<std::size_t>(found - names_.begin());
  }

private:
  Status missing(const std::string& column) const {
    return fail(Errc::data, "{}:{}: there is no column \"{}\"; the {} {}{}", file_, line_,
                echoed(column), names_.size() == 1 ? "only column is" : "columns are",
                quoted_list(names_), advice(column));
  }

  std::string advice(const std::string& column) const {
    for (const auto delimiter : choice_words<Delimiter>) {
      const auto character = character_of(*choice_named<Delimiter>(delimiter));
      const auto names = character == delimiter_ ? ColumnNames{} : names_with(text_, character);
      const bool has_column = std::ranges::find(names, column) != names.end();
      if (has_column || (names_.size() == 1 && names.size() > 1 && character != ' '))
        return fmt::format("; the delimiter seems to be a {0}: set data.table.delimiter: {0}",
                           delimiter);
    }
    if (const auto near = suggest(column, names_); !near.empty())
      return fmt::format("; did you mean \"{}\"?", echoed(near));
    return all_numbers(names_) ? "; the first line must contain the names of the columns" : "";
  }

  std::string file_;
  std::string_view text_;
  char delimiter_;
  std::size_t line_;
  ColumnNames names_;
};

class CsvReader {
public:
  CsvReader(const std::filesystem::path& path, std::string_view text, const CsvQuery& query)
      : file_{escaped(path.string())}, text_{text}, query_{query} {}

  Result<CsvColumns> run() {
    TROUPE_TRY(parse_csv(file_, text_, query_.delimiter, [this](const CsvRow& row) {
      return header_ ? add_row(row) : read_header(row);
    }));
    if (!header_)
      return fail(Errc::data,
                  "{}: the file is empty; its first line must contain the names of the "
                  "columns",
                  file_);
    if (read_.lines.empty())
      return fail(Errc::data, "{}: there are no rows below the column names", file_);
    return std::move(read_);
  }

private:
  Status read_header(const CsvRow& row) {
    header_.emplace(file_, text_, query_.delimiter, row);
    for (const auto& name : query_.numbers) {
      TROUPE_TRY(const auto column, header_->find(name));
      numbers_.push_back(column);
    }
    if (query_.words) {
      TROUPE_TRY(words_, header_->find(*query_.words));
    }
    return {};
  }

  Status add_row(const CsvRow& row) {
    if (row.cells.size() != header_->columns())
      return fail(Errc::data, "{}:{}: the row has {}, but the header has {}", file_, row.line,
                  counted(row.cells.size(), "cell"), counted(header_->columns(), "column"));
    for (const auto column : numbers_) {
      const auto value = parse_finite(row.cells[column]);
      if (!value)
        return refuse(row, column, why_not_finite(row.cells[column]));
      read_.numbers.push_back(*value);
    }
    read_.lines.push_back(row.line);
    return query_.words ? add_word(row) : Status{};
  }

  Status add_word(const CsvRow& row) {
    if (row.cells[words_].empty())
      return refuse(row, words_, why_not_finite({}));
    read_.words.push_back(row.cells[words_]);
    return {};
  }

  Status refuse(const CsvRow& row, std::size_t column, const std::string& why) const {
    return fail(Errc::data, "{}:{}: column \"{}\": {}", file_, row.line,
                echoed(header_->name(column)), why);
  }

  std::string file_;
  std::string_view text_;
  const CsvQuery& query_;
  std::optional<CsvHeader> header_;
  std::vector<std::size_t> numbers_; ///< indices of columns, in the order of the query
  std::size_t words_ = 0;
  CsvColumns read_;
};

} // namespace

Result<CsvColumns> read_csv(const std::filesystem::path& path, const CsvQuery& query) {
  TROUPE_TRY(const auto bytes, read_file(path));
  const std::string_view text{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  TROUPE_TRY(expect_text(text, path.string(), csv_advice));
  return CsvReader{path, text, query}.run();
}

} // namespace troupe::data
