/// A position in a Hjson text, with its line and column.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace troupe {

class HjsonCursor {
public:
  explicit HjsonCursor(std::string_view text) : text_{text} {}

  bool at_end() const { return at_ == text_.size(); }
  bool starts_with(std::string_view word) const { return text_.substr(at_).starts_with(word); }
  /// Whether the next character is one of these.
  bool starts_with_any(std::string_view letters) const {
    return !at_end() && letters.find(text_[at_]) != letters.npos;
  }
  bool has(std::string_view word) const { return text_.find(word, at_) != text_.npos; }
  bool starts_comment() const { return starts_with("#") || starts_with("//") || starts_with("/*"); }

  char take() {
    const char letter = text_[at_++];
    if (letter == '\n') {
      ++line_;
      line_begin_ = at_;
    }
    return letter;
  }
  /// Takes `count` characters, or fewer at the end of the text.
  std::string take(std::size_t count) {
    const auto begin = at_;
    for (; count > 0 && !at_end(); --count)
      take();
    return std::string{since(begin)};
  }
  /// Takes the word if it is next.
  bool take_if(std::string_view word) {
    if (!starts_with(word))
      return false;
    take(word.size());
    return true;
  }
  /// Takes everything up to and including the word, or the rest of the text. Returns the text
  /// before the word.
  std::string_view take_past(std::string_view word) {
    const auto begin = at_, end = std::min(text_.find(word, at_), text_.size());
    take(end - begin + word.size());
    return text_.substr(begin, end - begin);
  }
  void skip_blanks_and_comments() {
    for (;;)
      if (starts_with_any(" \t\r\n"))
        take();
      else if (starts_comment())
        take_past(starts_with("/*") ? "*/" : "\n");
      else
        return;
  }

  std::size_t place() const { return at_; }
  std::string_view since(std::size_t place) const { return text_.substr(place, at_ - place); }
  int line() const { return line_; }
  int column() const { return static_cast<int>(at_ - line_begin_) + 1; }

private:
  std::string_view text_;
  std::size_t at_ = 0, line_begin_ = 0;
  int line_ = 1;
};

} // namespace troupe
