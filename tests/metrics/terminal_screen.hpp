/// Emulates the screen of a terminal, also when its width changes during output.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::testing {

class TerminalScreen {
public:
  /// How a terminal treats lines that no longer fit: most wrap them, xterm cuts them off.
  enum class Narrowed { breaks_lines, cuts_lines };

  explicit TerminalScreen(std::size_t columns, Narrowed narrowed = Narrowed::breaks_lines)
      : columns_(columns), narrowed_(narrowed) {}

  void write(std::string_view text) {
    while (!text.empty())
      text.remove_prefix(take(text));
  }

  void resize(std::size_t columns) {
    columns_ = columns;
    if (narrowed_ == Narrowed::cuts_lines) {
      for (auto& row : rows_)
        row.text.resize(std::min(row.text.size(), columns));
      column_ = std::min(column_, columns - 1);
    } else {
      break_anew();
    }
  }

  /// Returns the lines as they were written: rows of a wrapped line are joined.
  std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    bool goes_on = false;
    for (const auto& row : rows_) {
      if (!goes_on)
        lines.emplace_back();
      lines.back() += row.text;
      goes_on = row.goes_on;
    }
    if (lines.back().empty())
      lines.pop_back(); // the row contains only the cursor
    return lines;
  }

private:
  struct Row {
    std::string text;
    bool goes_on = false; ///< wrapped: the line continues in the next row
  };

  /// Processes one character or control sequence and returns its length.
  std::size_t take(std::string_view text) {
    if (text.starts_with("\033[?7l") || text.starts_with("\033[?7h")) {
      wraps_ = text[4] == 'h';
      return 5;
    }
    if (text.starts_with("\033[K") || text.starts_with("\033[J")) {
      rows_[row_].text.resize(std::min(rows_[row_].text.size(), column_));
      if (text[2] == 'J')
        rows_.resize(row_ + 1);
      rows_[row_].goes_on = row_ + 1 < rows_.size() && rows_[row_].goes_on;
      return 3;
    }
    if (text[0] == '\r')
      column_ = 0;
    else if (text[0] == '\n')
      go_down();
    else
      put(text[0]);
    return 1;
  }

  void put(char character) {
    if (column_ == columns_ && wraps_) {
      rows_[row_].goes_on = true;
      column_ = 0;
      go_down();
    }
    column_ = std::min(column_, columns_ - 1);
    auto& text = rows_[row_].text;
    text.resize(std::max(text.size(), column_ + 1), ' ');
    text[column_++] = character;
  }

  void go_down() {
    if (++row_ == rows_.size())
      rows_.emplace_back();
  }

  /// Wraps all lines to the new width; the cursor stays at its character.
  void break_anew() {
    const auto old = std::exchange(rows_, {});
    std::size_t first = 0, offset = 0; // of the cursor: first row of its line, offset in that line
    std::string line;
    for (std::size_t i = 0; i < old.size(); ++i) {
      if (i == row_) {
        first = rows_.size();
        offset = line.size() + column_;
      }
      line += old[i].text;
      if (!old[i].goes_on)
        append(std::exchange(line, {}));
    }
    row_ = first + offset / columns_;
    column_ = offset % columns_;
    rows_.resize(std::max(rows_.size(), row_ + 1));
  }

  void append(const std::string& line) {
    for (std::size_t from = 0; from == 0 || from < line.size(); from += columns_)
      rows_.push_back({line.substr(from, columns_), from + columns_ < line.size()});
  }

  std::size_t columns_;
  Narrowed narrowed_;
  bool wraps_ = true;
  std::vector<Row> rows_ = std::vector<Row>(1);
  std::size_t row_ = 0, column_ = 0;
};

} // namespace troupe::testing
