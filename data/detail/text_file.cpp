#include "data/detail/text_file.hpp"

#include "core/escape.hpp"
#include "core/fail.hpp"
#include "core/json.hpp"
#include "data/detail/file.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>

namespace troupe::data {

namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{128} << 20;

} // namespace

Result<std::string> read_text(const std::filesystem::path& path) {
  TROUPE_TRY(auto file, InputFile::open(path));
  if (file.bytes() > most_bytes)
    return fail(Errc::data, "{}: the file has {} bytes, but tokenizer files may have at most {}",
                echoed(path.string()), file.bytes(), most_bytes);
  std::string text(file.bytes(), '\0');
  TROUPE_TRY(const auto count,
             file.read({reinterpret_cast<std::uint8_t*>(text.data()), text.size()}));
  text.resize(count);
  return text;
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
