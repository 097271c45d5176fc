#include "core/json.hpp"

#include "core/escape.hpp"
#include "core/fail.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace troupe {

namespace {

/// Returns the position of the first bracket that is nested too deeply, or the end of the text.
/// Ignores brackets in strings.
std::size_t find_too_deep(std::string_view json) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char letter = json[i];
    if (quoted && letter == '\\')
      ++i;
    else if (letter == '"')
      quoted = !quoted;
    else if (!quoted && (letter == '{' || letter == '[') && ++depth > max_json_depth)
      return i;
    else if (!quoted && (letter == '}' || letter == ']'))
      --depth;
  }
  return json.size();
}

/// Returns "FILE:LINE", or "line LINE" for a text without a file.
std::string place_of(const std::filesystem::path& file, std::int64_t line) {
  return file.empty() ? fmt::format("line {}", line)
                      : fmt::format("{}:{}", echoed(file.string()), line);
}

} // namespace

template <class Json>
Result<Json> parse_json(std::string_view text, const std::filesystem::path& file,
                        std::int64_t first_line) {
  const auto refuse = [&](std::size_t end, std::string_view what) {
    const auto line = first_line + std::ranges::count(text.substr(0, end), '\n');
    return fail(Errc::data, "{}: {}", place_of(file, line), what);
  };
  if (const auto bracket = find_too_deep(text); bracket < text.size())
    return refuse(bracket, fmt::format("JSON nested deeper than {} levels", max_json_depth));
  try {
    return Json::parse(text);
  } catch (const typename Json::parse_error& error) {
    return refuse(error.byte, fmt::format("not JSON: {}", echoed(error.what())));
  } catch (const typename Json::out_of_range& error) { // has no location
    return refuse(0, fmt::format("a number is too large, here or below: {}", echoed(error.what())));
  }
}

template Result<nlohmann::json>
parse_json<nlohmann::json>(std::string_view, const std::filesystem::path&, std::int64_t);
template Result<nlohmann::ordered_json>
parse_json<nlohmann::ordered_json>(std::string_view, const std::filesystem::path&, std::int64_t);

} // namespace troupe
