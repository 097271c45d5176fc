#include "data/detail/csv_file.hpp"

#include "core/config/data.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "core/suggestion.hpp"
#include "data/detail/csv_number.hpp"
#include "data/detail/file.hpp"
#include "data/detail/name_list.hpp"
#include "data/detail/text_kind.hpp"

#include <csv.h>

#include <algorithm>
#include <functional>
#include <string_view>

namespace troupe::data {

namespace {

/// One record. It may span several lines, because a quoted cell may contain line ends.
struct CsvRow {
  std::size_t line = 1; ///< line where the record begins, from 1
  std::vector<std::string> cells;
};

/// Receives a record; an error ends the parse.
using OnCsvRow = std::function<Status(const CsvRow&)>;

/// Parses one text. It feeds libcsv up to the next quote or line end at a time, so that the line
/// number is known.
///
/// In strict mode libcsv refuses text after a closing quote, but also a quote inside an unquoted
/// cell, which is text here. So strict mode is off while such a quote is fed.
class CsvParse {
public:
  /// `file`, which is for messages, and `on_row` must outlive it.
  CsvParse(std::string_view file, const OnCsvRow& on_row) : file_{file}, on_row_{on_row} {
    csv_init(&parser_, 0);
  }
  CsvParse(const CsvParse&) = delete;
  CsvParse& operator=(const CsvParse&) = delete;
  ~CsvParse() { csv_free(&parser_); }

  /// Errors: those of `on_row`; Errc::data, with the line, for quotes that do not fit.
  Status run(std::string_view text, char delimiter) {
    csv_set_delim(&parser_, static_cast<unsigned char>(delimiter));
    if (text.starts_with(byte_order_mark))
      text.remove_prefix(byte_order_mark.size());
    while (!text.empty()) {
      const auto end = std::min(text.find_first_of("\"\r\n"), text.size());
      TROUPE_TRY(feed(text.substr(0, end), true));
      text.remove_prefix(end);
      if (!text.empty())
        TROUPE_TRY(feed_special(text));
    }
    return finish();
  }

private:
  static constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

  /// Feeds the quote or line end that `text` begins with, and removes it.
  Status feed_special(std::string_view& text) {
    const bool is_quote = text.front() == '"', was_quoted = parser_.quoted != 0;
    TROUPE_TRY(feed(text.substr(0, 1), !is_quote || was_quoted));
    if (is_quote && !was_quoted)
      quote_line_ = line_;
    const bool ends_line =
        text.front() == '\n' || (text.front() == '\r' && !text.starts_with("\r\n"));
    text.remove_prefix(1);
    if (ends_line) {
      ++line_;
      if (parser_.quoted == 0)
        row_.line = line_;
    }
    return {};
  }

  Status feed(std::string_view bytes, bool strict) {
    csv_set_opts(&parser_, strict ? CSV_STRICT : 0);
    const auto parsed = csv_parse(&parser_, bytes.data(), bytes.size(), &CsvParse::on_cell,
                                  &CsvParse::on_end, this);
    TROUPE_TRY(status_);
    if (parsed == bytes.size())
      return {};
    if (csv_error(&parser_) != CSV_EPARSE)
      return out_of_memory();
    return fail(Errc::data,
                "{}:{}: text follows the closing quote of a cell; write a quote inside a quoted "
                "cell as \"\"",
                file_, line_);
  }

  Status finish() {
    csv_set_opts(&parser_, CSV_STRICT | CSV_STRICT_FINI);
    const bool ended = csv_fini(&parser_, &CsvParse::on_cell, &CsvParse::on_end, this) == 0;
    TROUPE_TRY(status_);
    if (ended)
      return {};
    if (csv_error(&parser_) != CSV_EPARSE)
      return out_of_memory();
    return fail(Errc::data, "{}:{}: the quoted cell that begins here has no closing quote", file_,
                quote_line_);
  }

  Status out_of_memory() {
    return fail(Errc::data, "{}:{}: {}", file_, line_, csv_strerror(csv_error(&parser_)));
  }

  static void on_cell(void* bytes, std::size_t count, void* self) {
    static_cast<CsvParse*>(self)->row_.cells.emplace_back(static_cast<const char*>(bytes), count);
  }

  static void on_end(int, void* self) {
    auto& parse = *static_cast<CsvParse*>(self);
    if (parse.status_)
      parse.status_ = parse.on_row_(parse.row_);
    parse.row_.cells.clear();
  }

  std::string_view file_;
  const OnCsvRow& on_row_;
  csv_parser parser_ = {};
  CsvRow row_;
  Status status_ = {}; ///< last result of on_row_
  std::size_t line_ = 1, quote_line_ = 1;
};

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
  const OnCsvRow take_first = [&](const CsvRow& row) -> Status {
    names = names_of(row);
    return fail(Errc::stopped, "one record is enough");
  };
  (void)CsvParse{{}, take_first}.run(text, delimiter);
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
    const OnCsvRow on_row = [this](const CsvRow& row) {
      return header_ ? add_row(row) : read_header(row);
    };
    TROUPE_TRY((CsvParse{file_, on_row}.run(text_, query_.delimiter)));
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
