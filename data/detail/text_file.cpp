#include "text_file.hpp"

#include "file.hpp"

#include "troupe/core/fail.hpp"
#include "troupe/core/printable.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace troupe::data {

namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{128} << 20;
constexpr int deepest = 32;

/// How deep brackets are nested; those in strings do not count.
int depth_of(std::string_view json) {
  int depth = 0, most = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char letter = json[i];
    if (quoted && letter == '\\')
      ++i;
    else if (letter == '"')
      quoted = !quoted;
    else if (!quoted && (letter == '{' || letter == '['))
      most = std::max(most, ++depth);
    else if (!quoted && (letter == '}' || letter == ']'))
      --depth;
  }
  return most;
}

} // namespace

Result<std::string> read_text(const std::filesystem::path& path) {
  TROUPE_TRY(auto file, InputFile::open(path));
  if (file.bytes() > most_bytes)
    return fail(Errc::data, "{}: it has {} bytes, but tokenizers' files have at most {}",
                echoed(path.string()), file.bytes(), most_bytes);
  std::string text(file.bytes(), '\0');
  TROUPE_TRY(const auto count,
             file.read({reinterpret_cast<std::uint8_t*>(text.data()), text.size()}));
  text.resize(count);
  return text;
}

Result<nlohmann::json> parse_json(std::string_view text, const std::filesystem::path& path,
                                  std::int64_t first) {
  if (depth_of(text) > deepest)
    return fail(Errc::data, "{}:{}: its values are nested deeper than {}", echoed(path.string()),
                first, deepest);
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) { // which alone knows the place
    const auto until = text.substr(0, error.byte);
    return fail(Errc::data, "{}:{}: this is no JSON: {}", echoed(path.string()),
                first + std::ranges::count(until, '\n'), echoed(error.what()));
  } catch (const nlohmann::json::out_of_range& error) { // a number beyond all doubles
    return fail(Errc::data, "{}:{}: this cannot be read, here or behind it: {}",
                echoed(path.string()), first, echoed(error.what()));
  }
}

Result<nlohmann::json> read_json(const std::filesystem::path& path) {
  TROUPE_TRY(const auto text, read_text(path));
  return parse_json(text, path);
}

Status in_file(const std::filesystem::path& path, Status status) {
  if (status)
    return status;
  return fail(status.error().code, "{}: {}", echoed(path.string()), status.error().message);
}

} // namespace troupe::data
