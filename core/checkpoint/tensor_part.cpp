#include "core/checkpoint/tensor_part.hpp"

#include "core/escape.hpp"
#include "core/fail.hpp"
#include "core/whole_number.hpp"

#include <algorithm>

namespace troupe {

namespace {

/// Takes the text up to the next blank.
std::string_view next_word(std::string_view& text) {
  const auto end = std::min(text.find(' '), text.size());
  const auto word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

/// Parses a shape. Rejects one whose number of elements does not fit into 64 bits.
std::optional<Shape> shape_of(std::string_view word) {
  constexpr auto largest = std::int64_t{1} << 48;
  Shape shape;
  if (word == "scalar")
    return shape;
  std::int64_t elements = 1;
  while (true) {
    const auto end = std::min(word.find('x'), word.size());
    const auto size = read_whole_number<std::int64_t>(word.substr(0, end));
    if (!size || *size < 0 || (*size > 0 && elements > largest / *size))
      return std::nullopt;
    shape.dims.push_back(*size);
    elements *= *size;
    if (end == word.size())
      return shape;
    word.remove_prefix(end + 1);
  }
}

bool is_consistent(const TensorPart& part) {
  const auto elements = static_cast<std::size_t>(part.shape.elements());
  return part.elements <= part.stored && part.first <= part.stored - part.elements &&
         (part.layout ? part.stored >= elements : part.stored == elements);
}

} // namespace

std::string to_string(const TensorPart& part) {
  auto text = fmt::format("{} {} of {}", part.shape.to_string(), part.first, part.stored);
  if (part.layout)
    text += " " + to_string(*part.layout);
  return text;
}

std::string part_key(std::string_view name) {
  return fmt::format("part {}", name);
}

Result<TensorPart> parse_part(std::string_view name, std::string_view text, std::size_t elements) {
  const auto whole = text;
  const auto shape = shape_of(next_word(text));
  const auto first = read_whole_number<std::size_t>(next_word(text));
  const auto of = next_word(text);
  const auto stored = read_whole_number<std::size_t>(next_word(text));
  if (!shape || !first || of != "of" || !stored)
    return fail(Errc::corrupt, "\"{}\" does not describe a part of tensor '{}'", echoed(whole),
                echoed(name));
  TensorPart part{.name = std::string{name},
                  .shape = *shape,
                  .stored = *stored,
                  .first = *first,
                  .elements = elements};
  if (!text.empty()) {
    TROUPE_TRY(part.layout, parse_layout(text));
  }
  if (!is_consistent(part))
    return fail(Errc::corrupt, "tensor '{}' has {} elements, which does not match \"{}\"",
                echoed(name), elements, echoed(whole));
  return part;
}

} // namespace troupe
