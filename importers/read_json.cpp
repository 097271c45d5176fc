#include "importers/detail/document_builder.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>

namespace troupe {

namespace {

/// Records how far the parser has read: the parser reports the location of a mistake, but not of a
/// key.
class Reading {
public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Reading(const char* at, const char** furthest) : at_{at}, furthest_{furthest} {}
  reference operator*() const { return *at_; }
  Reading& operator++() {
    *furthest_ = ++at_;
    return *this;
  }
  Reading operator++(int) {
    auto before = *this;
    ++*this;
    return before;
  }
  bool operator==(const Reading& other) const { return at_ == other.at_; }

private:
  const char* at_;
  const char** furthest_;
};

/// Callbacks of nlohmann's parser. Returning false ends the parsing.
class Events {
public:
  Events(std::string_view text, const char* const& at, ForeignBuilder& builder)
      : text_{text}, at_{at}, builder_{builder} {}

  bool null() { return builder_.scalar(ForeignKind::null, {}); }
  bool boolean(bool value) {
    return builder_.scalar(ForeignKind::boolean, value ? "true" : "false");
  }
  bool number_integer(std::int64_t value) {
    return builder_.scalar(ForeignKind::number, fmt::format("{}", value));
  }
  bool number_unsigned(std::uint64_t value) {
    return builder_.scalar(ForeignKind::number, fmt::format("{}", value));
  }
  bool number_float(double, const std::string& text) {
    return builder_.scalar(ForeignKind::number, text);
  }
  bool string(std::string& text) { return builder_.scalar(ForeignKind::text, text); }
  bool binary(nlohmann::json::binary_t&) { return false; } // JSON has none
  bool start_object(std::size_t) { return builder_.open_mapping(); }
  bool end_object() { return builder_.close_mapping(); }
  bool start_array(std::size_t) { return builder_.open_list(); }
  bool end_array() { return builder_.close_list(); }
  bool key(std::string& name) {
    const auto begin = opening_quote();
    advance_to(begin);
    return builder_.name(name, line_, static_cast<int>(begin - line_begin_) + 1);
  }
  bool parse_error(std::size_t, const std::string& token, const nlohmann::json::exception& error) {
    constexpr int too_large = 406; // nlohmann's number for it
    const auto end = static_cast<std::size_t>(at_ - text_.data());
    advance_to(end == 0 ? 0 : end - 1);
    // Steps back from the end of the file, because the line after the last line break is empty.
    const auto column = static_cast<int>((end == 0 ? 0 : end - 1) - line_begin_) + 1;
    if (error.id == too_large)
      return builder_.fail(line_, column,
                           fmt::format("{}: the number is too large", token.substr(0, 60)));
    return builder_.fail(line_, column,
                         at_ == text_.data() + text_.size()
                             ? "not JSON: the file ends too early, or has text after its end"
                             : fmt::format("not JSON: unexpected {}", token.substr(0, 60)));
  }

private:
  /// Returns the position of the opening quote of the name that ends where the parser is.
  std::size_t opening_quote() const {
    auto at = static_cast<std::size_t>(at_ - text_.data()) - 1;
    do
      at = text_.rfind('"', at - 1);
    while (at > 0 && escaped_at(at));
    return at;
  }
  bool escaped_at(std::size_t at) const {
    std::size_t slashes = 0;
    while (slashes < at && text_[at - 1 - slashes] == '\\')
      ++slashes;
    return slashes % 2 == 1;
  }
  void advance_to(std::size_t place) {
    for (; counted_ < place; ++counted_)
      if (text_[counted_] == '\n') {
        ++line_;
        line_begin_ = counted_ + 1;
      }
  }

  std::string_view text_;
  const char* const& at_;
  ForeignBuilder& builder_;
  int line_ = 1;
  std::size_t line_begin_ = 0, counted_ = 0;
};

} // namespace

ForeignResult read_foreign_json(std::string_view text, const std::string& source) {
  ForeignBuilder builder{source};
  const char* at = text.data();
  Events events{text, at, builder};
  using nlohmann::json;
  json::sax_parse(Reading{text.data(), &at}, Reading{text.data() + text.size(), &at}, &events,
                  json::input_format_t::json, true, true);
  return builder.finish();
}

} // namespace troupe
