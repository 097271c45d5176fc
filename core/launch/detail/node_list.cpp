#include "core/launch/detail/node_list.hpp"

#include "core/escape.hpp"
#include "core/fail.hpp"
#include "core/whole_number.hpp"

namespace troupe {

namespace {

using Names = std::vector<std::string>;

/// More than any job has; limits the expansion of brackets.
constexpr std::size_t most_names = 1 << 16;

tl::unexpected<Error> wrong(std::string_view list, std::string_view part, const char* why) {
  return fail(Errc::invalid_input, "\"{}\": \"{}\" {}", echoed(list, 200), echoed(part, 60), why);
}

/// Expands "07-11", or returns a text that is not a range as it is. Numbers have the width of the
/// first.
Result<Names> expand_range(std::string_view list, std::string_view range) {
  const auto dash = range.find('-');
  if (dash == std::string_view::npos)
    return range.empty() ? wrong(list, range, "has no name") : Result<Names>{{std::string{range}}};
  const auto width = dash;
  const auto first = read_whole_number<std::uint64_t>(range.substr(0, dash)),
             last = read_whole_number<std::uint64_t>(range.substr(dash + 1));
  if (!first || !last || *last < *first)
    return wrong(list, range, "is not a range of numbers");
  if (*last - *first >= most_names)
    return wrong(list, range, "expands to too many hosts");
  Names names;
  for (auto number = *first; number <= *last; ++number)
    names.push_back(fmt::format("{:0{}}", number, width));
  return names;
}

/// Expands each part between commas.
Result<Names> expand_each(std::string_view list, std::string_view parts,
                          Result<Names> (*expand)(std::string_view, std::string_view)) {
  Names names;
  for (const auto part : split_list(parts)) {
    TROUPE_TRY(const auto more, expand(list, part));
    names.insert(names.end(), more.begin(), more.end());
  }
  return names;
}

/// Combines each head with each tail; the tail changes fastest.
Result<Names> combined(std::string_view list, const Names& heads, const Names& tails) {
  if (heads.size() * tails.size() > most_names)
    return wrong(list, list, "expands to too many hosts");
  Names names;
  for (const auto& head : heads)
    for (const auto& tail : tails)
      names.push_back(head + tail);
  return names;
}

/// Expands a name with any number of brackets: "rack[0-1]node[0-3]".
Result<Names> expand_name(std::string_view list, std::string_view name) {
  if (name.empty())
    return wrong(list, name, "has no name");
  Names names = {""};
  while (!name.empty()) {
    const auto plain = name.substr(0, name.find('['));
    TROUPE_TRY(names, combined(list, names, {std::string{plain}}));
    name.remove_prefix(plain.size());
    if (name.empty())
      break;
    const auto close = name.find(']');
    if (close == std::string_view::npos)
      return wrong(list, name, "has no closing bracket");
    TROUPE_TRY(const auto tails, expand_each(list, name.substr(1, close - 1), expand_range));
    TROUPE_TRY(names, combined(list, names, tails));
    name.remove_prefix(close + 1);
  }
  return names;
}

} // namespace

std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      parts.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    } else {
      depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
    }
  }
  return parts;
}

Result<std::vector<std::string>> expand_node_list(std::string_view list) {
  return expand_each(list, list, expand_name);
}

std::optional<std::vector<std::int64_t>> repeated_counts(std::string_view list) {
  std::vector<std::int64_t> counts;
  for (auto part : split_list(list)) {
    const auto times_at = part.find("(x");
    std::optional<std::size_t> times = 1;
    if (times_at != std::string_view::npos && part.ends_with(')'))
      times = read_whole_number<std::size_t>(part.substr(times_at + 2, part.size() - times_at - 3));
    const auto count = read_whole_number<std::int64_t>(part.substr(0, times_at));
    if (!count || *count < 0 || !times || *times > most_names)
      return std::nullopt;
    counts.insert(counts.end(), *times, *count);
  }
  return counts;
}

} // namespace troupe
