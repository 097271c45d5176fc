// Hjson, which DeepSpeed uses for its files: JSON with comments, with names and texts that need no
// quotes, and members that end at a comma or at the end of a line. The outermost braces are
// optional (https://hjson.github.io/syntax.html).
#include "importers/detail/document_builder.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <regex>

namespace troupe {

namespace {

constexpr std::string_view blanks = " \t\r\n", quote_marks = "\"'",
                           punctuation = "{}[],:", byte_order_mark = "\xEF\xBB\xBF";

std::string_view trimmed(std::string_view text) {
  const auto begin = std::min(text.find_first_not_of(blanks), text.size());
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

bool is_number(std::string_view word) {
  static const std::regex number{R"(-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?)"};
  constexpr std::size_t longest = 64; // std::regex takes a stack frame for each digit
  return word.size() <= longest && std::regex_match(word.begin(), word.end(), number);
}

/// Returns nullopt for a text without quotes.
std::optional<ForeignKind> kind_of(std::string_view word) {
  if (word == "null")
    return ForeignKind::null;
  if (word == "true" || word == "false")
    return ForeignKind::boolean;
  return is_number(word) ? std::optional{ForeignKind::number} : std::nullopt;
}

/// Removes the indentation, up to that of the opening quotes, from each line.
std::string unindented(std::string_view lines, std::size_t indent) {
  std::string text;
  while (!lines.empty()) {
    const auto end = std::min(lines.find('\n'), lines.size() - 1) + 1;
    const auto line = lines.substr(0, end);
    text += line.substr(std::min({indent, line.find_first_not_of(" \t"), line.size()}));
    lines.remove_prefix(end);
  }
  if (text.ends_with('\n'))
    text.pop_back();
  return text;
}

/// A position in a Hjson text, with its line and column.
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

class HjsonReader {
public:
  HjsonReader(std::string_view text, ForeignBuilder& builder) : at_{text}, builder_{builder} {}

  void read() {
    at_.take_if(byte_order_mark);
    at_.skip_blanks_and_comments();
    if (at_.at_end()) {
      fail("the file is empty");
      return;
    }
    if (!(at_.starts_with_any("{[") ? read_value() : read_mapping("")))
      return;
    at_.skip_blanks_and_comments();
    if (!at_.at_end())
      fail("text after the end of the outermost mapping");
  }

private:
  bool fail(std::string_view what) {
    return builder_.fail(at_.line(), at_.column(), fmt::format("not JSON or Hjson: {}", what));
  }

  bool read_value() {
    at_.skip_blanks_and_comments();
    if (at_.take_if("{"))
      return read_mapping("}");
    if (at_.take_if("["))
      return read_list();
    return at_.starts_with_any(quote_marks) ? read_text() : read_word();
  }

  /// `end`: the closing text; empty for the outermost mapping without braces, which ends with the
  /// file.
  bool read_mapping(std::string_view end) {
    return builder_.open_mapping() && read_until(end, &HjsonReader::read_member) &&
           builder_.close_mapping();
  }
  bool read_list() {
    return builder_.open_list() && read_until("]", &HjsonReader::read_value) &&
           builder_.close_list();
  }

  bool read_until(std::string_view end, bool (HjsonReader::*read_one)()) {
    for (;;) {
      at_.skip_blanks_and_comments();
      if (end.empty() ? at_.at_end() : at_.take_if(end))
        return true;
      if (at_.at_end())
        return fail(fmt::format("the file ends too early: {} is missing", end));
      if (!(this->*read_one)())
        return false;
      at_.skip_blanks_and_comments();
      at_.take_if(",");
    }
  }

  bool read_member() {
    const int line = at_.line(), column = at_.column();
    std::string name;
    if (!read_name(name))
      return false;
    at_.skip_blanks_and_comments();
    if (!at_.take_if(":"))
      return fail("a colon is missing after a name");
    return builder_.name(name, line, column) && read_value();
  }

  bool read_name(std::string& name) {
    if (at_.starts_with_any(quote_marks))
      return read_quoted(name);
    const auto begin = at_.place();
    while (!at_.at_end() && !at_.starts_with_any(punctuation) && !at_.starts_with_any(blanks))
      at_.take();
    name = at_.since(begin);
    return !name.empty() || fail("a name is missing");
  }

  bool read_text() {
    std::string text;
    const bool is_whole = at_.starts_with("'''") ? read_lines(text) : read_quoted(text);
    return is_whole && builder_.scalar(ForeignKind::text, std::move(text));
  }

  /// Escapes are JSON's, so the JSON library decodes them.
  bool read_quoted(std::string& text) {
    const char quote = at_.take();
    std::string json = "\"";
    bool is_closed = false;
    while (!is_closed && !at_.at_end()) {
      const char letter = at_.take();
      is_closed = letter == quote;
      if (letter == '\\')
        json += at_.take_if("'") ? "'" : letter + at_.take(1);
      else if (!is_closed)
        json += letter == '"' ? "\\\"" : std::string{letter};
    }
    const auto parsed = nlohmann::json::parse(json + '"', nullptr, false);
    if (!is_closed || !parsed.is_string())
      return fail("a quoted string has no end, a line break, or an escape that JSON does not have");
    text = parsed.get<std::string>();
    return true;
  }

  /// Reads a text between triple quotes.
  bool read_lines(std::string& text) {
    const auto indent = static_cast<std::size_t>(at_.column()) - 1;
    at_.take(3);
    if (!at_.has("'''"))
      return fail("the file ends too early: ''' is missing");
    const auto lines = at_.take_past("'''");
    const auto first = std::min(lines.find_first_not_of(" \t\r"), lines.size());
    text = lines.substr(first).starts_with('\n') ? unindented(lines.substr(first + 1), indent)
                                                 : unindented(lines.substr(first), 0);
    return true;
  }

  /// A number, a bool or null ends at a comma, a closing bracket or a comment; any other text ends
  /// with its line.
  bool read_word() {
    if (at_.at_end() || at_.starts_with_any(punctuation))
      return fail("a value is missing");
    for (const auto begin = at_.place();; at_.take()) {
      const bool is_line = at_.at_end() || at_.starts_with("\n");
      if (!is_line && !at_.starts_with_any(",}]") && !at_.starts_comment())
        continue;
      const auto word = trimmed(at_.since(begin));
      const auto kind = kind_of(word);
      if (kind || is_line)
        return builder_.scalar(kind.value_or(ForeignKind::text),
                               kind == ForeignKind::null ? std::string{} : std::string{word});
    }
  }

  HjsonCursor at_;
  ForeignBuilder& builder_;
};

} // namespace

ForeignResult read_foreign_hjson(std::string_view text, const std::string& source) {
  ForeignBuilder builder{source};
  HjsonReader{text, builder}.read();
  return builder.finish();
}

} // namespace troupe
