#include "data/table_classes.hpp"

#include "core/suggestion.hpp"
#include "data/detail/csv_number.hpp"
#include "data/detail/name_list.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>

namespace troupe::data {

namespace {

using Labels = std::map<std::string, std::int32_t, std::less<>>;

Labels labels_by_name(std::span<const std::string> classes) {
  Labels labels;
  for (std::size_t i = 0; i < classes.size(); ++i)
    labels.emplace(classes[i], static_cast<std::int32_t>(i));
  return labels;
}

/// Returns whether the cell is a word that pandas reads as a missing value.
bool is_missing(const std::string& cell) {
  constexpr auto words = std::to_array<std::string_view>(
      {"#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
       "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"});
  return std::ranges::find(words, cell) != words.end();
}

bool is_number_or_missing(const std::string& cell) {
  return parse_finite(cell).has_value() || is_missing(cell);
}

std::optional<std::int32_t> numbered_label(const std::string& cell, std::size_t count) {
  const auto value = parse_finite(cell);
  if (!value || *value < 0 || std::trunc(*value) != *value || *value >= static_cast<double>(count))
    return std::nullopt;
  return static_cast<std::int32_t>(*value);
}

bool are_numbered(std::span<const std::string> classes) {
  return std::ranges::equal(classes, numbered_classes(std::ssize(classes)));
}

std::string why_no_class(const std::string& cell, std::span<const std::string> classes) {
  if (is_missing(cell))
    return fmt::format("{} is a missing value; fill it in or leave the row out", cell);
  if (are_numbered(classes))
    return fmt::format("\"{}\" is not a class; the classes are 0 to {}", echoed(cell),
                       classes.size() - 1);
  const auto near = suggest(cell, classes);
  return fmt::format("\"{}\" is not a class; the classes are {}{}", echoed(cell),
                     quoted_list(classes),
                     near.empty() ? "" : fmt::format("; did you mean \"{}\"?", echoed(near)));
}

} // namespace

std::vector<std::string> numbered_classes(std::int64_t count) {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < count; ++i)
    names.push_back(std::to_string(i));
  return names;
}

Result<std::vector<std::string>> find_classes(const ClassColumn& column, std::int64_t count) {
  const auto word = std::ranges::find_if_not(column.cells, is_number_or_missing);
  if (word == column.cells.end())
    return numbered_classes(count);
  std::set<std::string> different{column.cells.begin(), column.cells.end()};
  if (std::ssize(different) != count)
    std::erase_if(different, is_missing);
  std::vector<std::string> words{different.begin(), different.end()};
  if (std::ssize(words) == count)
    return words;
  return fail(Errc::data,
              "{}: column \"{}\" has {} classes ({}; line {} has the first that is not a number), "
              "but model.num_classes is {}: set model.num_classes: {}",
              column.file, echoed(column.name), words.size(), quoted_list(words),
              column.lines[static_cast<std::size_t>(word - column.cells.begin())], count,
              words.size());
}

Result<std::vector<std::int32_t>> labels_of(const ClassColumn& column,
                                            std::span<const std::string> classes) {
  const auto by_name = labels_by_name(classes);
  const bool numbers =
      are_numbered(classes) ||
      std::ranges::none_of(column.cells, [&](const auto& cell) { return by_name.contains(cell); });
  std::vector<std::int32_t> labels;
  for (std::size_t row = 0; row < column.cells.size(); ++row) {
    const auto& cell = column.cells[row];
    const auto found = by_name.find(cell);
    auto label = found != by_name.end() ? std::optional{found->second} : std::nullopt;
    if (!label && numbers)
      label = numbered_label(cell, classes.size());
    if (!label)
      return fail(Errc::data, "{}:{}: column \"{}\": {}", column.file, column.lines[row],
                  echoed(column.name), why_no_class(cell, classes));
    labels.push_back(*label);
  }
  return labels;
}

} // namespace troupe::data
