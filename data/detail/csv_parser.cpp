#include "data/detail/csv_parser.hpp"

#include "core/fail.hpp"

#include <csv.h>

#include <algorithm>

namespace troupe::data {

namespace {

/// Parses one text. It feeds libcsv up to the next quote or line end at a time, so that the line
/// number is known.
///
/// In strict mode libcsv refuses text after a closing quote, but also a quote inside an unquoted
/// cell, which is text here. So strict mode is off while such a quote is fed.
class CsvParse {
public:
  CsvParse(std::string_view file, const OnCsvRow& on_row) : file_{file}, on_row_{on_row} {
    csv_init(&parser_, 0);
  }
  CsvParse(const CsvParse&) = delete;
  CsvParse& operator=(const CsvParse&) = delete;
  ~CsvParse() { csv_free(&parser_); }

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

} // namespace

Status parse_csv(std::string_view file, std::string_view text, char delimiter,
                 const OnCsvRow& on_row) {
  return CsvParse{file, on_row}.run(text, delimiter);
}

} // namespace troupe::data
