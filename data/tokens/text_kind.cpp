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

constexpr const char* unpack_first = "unpack it first";
constexpr const char* convert_first = "convert it to UTF-8 first";
constexpr const char* export_first = "write its texts to a .txt or .jsonl file first";
constexpr const char* move_away = "move it out of the texts";

/// UTF-32 before UTF-16, whose mark it begins with.
constexpr std::array kinds = {
    FileKind{"\x1f\x8b"sv, "a gzip file", unpack_first},
    FileKind{"\x28\xb5\x2f\xfd"sv, "a Zstandard file", unpack_first},
    FileKind{"\xfd"
             "7zXZ\0"sv,
             "an xz file", unpack_first},
    FileKind{"BZh"sv, "a bzip2 file", unpack_first},
    FileKind{"PK\x03\x04"sv, "a ZIP archive", unpack_first},
    FileKind{"7z\xbc\xaf\x27\x1c"sv, "a 7z archive", unpack_first},
    FileKind{"PAR1"sv, "a Parquet file", export_first},
    FileKind{"ARROW1"sv, "an Arrow file", export_first},
    FileKind{"%PDF-"sv, "a PDF document", export_first},
    FileKind{"\xff\xfe\0\0"sv, "text in UTF-32", convert_first},
    FileKind{"\0\0\xfe\xff"sv, "text in UTF-32", convert_first},
    FileKind{"\xff\xfe"sv, "text in UTF-16", convert_first},
    FileKind{"\xfe\xff"sv, "text in UTF-16", convert_first},
    FileKind{"\x89PNG\r\n"sv, "a PNG image", move_away},
    FileKind{"\xff\xd8\xff"sv, "a JPEG image", move_away},
    FileKind{"GIF8"sv, "a GIF image", move_away},
    FileKind{"II*\0"sv, "a TIFF image", move_away},
    FileKind{"MM\0*"sv, "a TIFF image", move_away},
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
                move_away);
  return {};
}

} // namespace troupe::data
