#include "data/detail/csv_file.hpp"

#include "core/escape.hpp"
#include "core/fail.hpp"
#include "data/detail/csv_header.hpp"
#include "data/detail/csv_number.hpp"
#include "data/detail/file.hpp"
#include "data/detail/text_kind.hpp"

namespace troupe::data {

namespace {

constexpr KindAdvice csv_advice = {.archive = "unpack it, or save the workbook as CSV",
                                   .document = "save its table as CSV first",
                                   .image = "tables are CSV files",
                                   .tokens = "tables are CSV files"};

std::string counted(std::size_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

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
