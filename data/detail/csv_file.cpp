#include "csv_file.hpp"

#include "file.hpp"

#include "troupe/core/fail.hpp"
#include "troupe/core/nearest.hpp"
#include "troupe/core/printable.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace troupe::data {

namespace {

using Cells = std::vector<std::string>;

/// The cells of one record, taken off the text; quotes may hold commas, line ends and "" for one.
Cells take_record(std::string_view& text, std::size_t& lines) {
  Cells cells(1);
  bool quoted = false;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    const char letter = text[i];
    lines += letter == '\n' ? 1 : 0;
    if (letter == '"' && quoted && i + 1 < text.size() && text[i + 1] == '"')
      cells.back() += text[i++];
    else if (letter == '"')
      quoted = !quoted;
    else if (!quoted && letter == '\n')
      break;
    else if (!quoted && letter == ',')
      cells.emplace_back();
    else if (quoted || letter != '\r')
      cells.back() += letter;
  }
  text.remove_prefix(std::min(text.size(), i + 1));
  return cells;
}

std::string_view trimmed(std::string_view cell) {
  const auto begin = cell.find_first_not_of(" \t");
  return begin == cell.npos ? std::string_view{}
                            : cell.substr(begin, cell.find_last_not_of(" \t") - begin + 1);
}

/// Reads one file, of which it knows how far it has come.
class Reader {
public:
  Reader(const std::filesystem::path& path, std::string_view text) : path_{path}, text_{text} {}

  Result<std::vector<float>> run(std::span<const std::string> columns) {
    TROUPE_TRY(find_columns(columns));
    std::vector<float> values;
    while (!text_.empty()) {
      line_ = next_line_;
      const auto cells = take_record(text_, next_line_);
      if (cells.size() == 1 && trimmed(cells[0]).empty()) // an empty line, as at the end
        continue;
      TROUPE_TRY(add_row(cells, values));
    }
    if (values.empty())
      return fail(Errc::data, "{}: there are no rows below the column names", path_.string());
    return values;
  }

private:
  Status find_columns(std::span<const std::string> columns) {
    if (text_.starts_with("\xEF\xBB\xBF")) // a byte order mark
      text_.remove_prefix(3);
    for (const auto& name : take_record(text_, next_line_))
      names_.emplace_back(trimmed(name));
    for (const auto& column : columns) {
      const auto found = std::ranges::find(names_, column);
      if (found == names_.end())
        return missing(column);
      places_.push_back(static_cast<std::size_t>(found - names_.begin()));
    }
    return {};
  }

  Status missing(const std::string& column) const {
    const auto near = nearest(column, names_);
    return fail(Errc::data, "{}:1: there is no column {}{}", path_.string(), echoed(column),
                near.empty() ? "" : fmt::format("; did you mean {}?", echoed(near)));
  }

  Status add_row(const Cells& cells, std::vector<float>& values) const {
    if (cells.size() != names_.size())
      return fail(Errc::data, "{}:{}: the row has {} cells, but there are {} columns",
                  path_.string(), line_, cells.size(), names_.size());
    for (const auto place : places_) {
      const auto cell = trimmed(cells[place]);
      float value = 0;
      const auto end = cell.data() + cell.size();
      const auto [stop, error] = std::from_chars(cell.data(), end, value);
      if (error != std::errc{} || stop != end || !std::isfinite(value))
        return fail(Errc::data, "{}:{}: column {}: {} is no finite number", path_.string(), line_,
                    echoed(names_[place]), echoed(cell));
      values.push_back(value);
    }
    return {};
  }

  const std::filesystem::path& path_;
  std::string_view text_;
  std::size_t line_ = 1, next_line_ = 1;
  std::vector<std::string> names_;
  std::vector<std::size_t> places_; ///< of the wanted columns, among all
};

} // namespace

Result<std::vector<float>> read_csv(const std::filesystem::path& path,
                                    std::span<const std::string> columns) {
  const auto bytes = read_file(path);
  if (!bytes)
    return failure(bytes.error());
  return Reader{path, {reinterpret_cast<const char*>(bytes->data()), bytes->size()}}.run(columns);
}

} // namespace troupe::data
