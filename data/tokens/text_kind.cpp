#include "text_kind.hpp"

#include "troupe/core/fail.hpp"
#include "troupe/core/printable.hpp"

#include <algorithm>
#include <array>

namespace troupe::data {

namespace {

using namespace std::string_view_literals;

struct FileKind {
  std::string_view magic; ///< the first bytes
  const char* name;
  const char* advice;
};

constexpr const char* unpack = "unpack it first";
constexpr const char* convert = "convert it to UTF-8 first";
constexpr const char* export_texts = "write its texts to a .txt or .jsonl file first";
constexpr const char* remove_it = "move it out of the texts";

/// UTF-32 before UTF-16, whose mark it begins with.
constexpr std::array kinds = {
    FileKind{"\x1f\x8b"sv, "a gzip file", unpack},
    FileKind{"\x28\xb5\x2f\xfd"sv, "a Zstandard file", unpack},
    FileKind{"\xfd"
             "7zXZ\0"sv,
             "an xz file", unpack},
    FileKind{"BZh"sv, "a bzip2 file", unpack},
    FileKind{"PK\x03\x04"sv, "a ZIP archive", unpack},
    FileKind{"7z\xbc\xaf\x27\x1c"sv, "a 7z archive", unpack},
    FileKind{"PAR1"sv, "a Parquet file", export_texts},
    FileKind{"ARROW1"sv, "an Arrow file", export_texts},
    FileKind{"%PDF-"sv, "a PDF document", export_texts},
    FileKind{"\xff\xfe\0\0"sv, "text in UTF-32", convert},
    FileKind{"\0\0\xfe\xff"sv, "text in UTF-32", convert},
    FileKind{"\xff\xfe"sv, "text in UTF-16", convert},
    FileKind{"\xfe\xff"sv, "text in UTF-16", convert},
    FileKind{"\x89PNG\r\n"sv, "a PNG image", remove_it},
    FileKind{"\xff\xd8\xff"sv, "a JPEG image", remove_it},
    FileKind{"GIF8"sv, "a GIF image", remove_it},
    FileKind{"II*\0"sv, "a TIFF image", remove_it},
    FileKind{"MM\0*"sv, "a TIFF image", remove_it},
    FileKind{"TROUPETK"sv, "a file of tokens", "as data.root it has to end in .tokens"},
};

bool is_webp(std::string_view begin) {
  return begin.starts_with("RIFF") && begin.size() >= 12 && begin.substr(8, 4) == "WEBP";
}

} // namespace

Status expect_text(std::string_view begin, std::string_view name) {
  const auto* const found = std::ranges::find_if(
      kinds, [&](const FileKind& kind) { return begin.starts_with(kind.magic); });
  if (found != kinds.end())
    return fail(Errc::data, "{}: this is {}, not plain text: {}", echoed(name), found->name,
                found->advice);
  if (is_webp(begin))
    return fail(Errc::data, "{}: this is a WebP image, not plain text: {}", echoed(name),
                remove_it);
  return {};
}

} // namespace troupe::data
