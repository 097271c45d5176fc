#include "data/detail/text_kind.hpp"

#include "core/escape.hpp"
#include "core/fail.hpp"

#include <algorithm>
#include <array>

namespace troupe::data {

namespace {

using namespace std::string_view_literals;

struct FileKind {
  std::string_view magic; ///< first bytes of the file
  const char* name;
  const char* KindAdvice::*advice;
};

/// UTF-32 precedes UTF-16, because its mark begins with UTF-16's. \x15 is the first byte of a
/// Parquet file's first structure: a text may begin with PAR1.
constexpr std::array kinds = {
    FileKind{"\x1f\x8b"sv, "a gzip file", &KindAdvice::compressed},
    FileKind{"\x28\xb5\x2f\xfd"sv, "a Zstandard file", &KindAdvice::compressed},
    FileKind{"\xfd"
             "7zXZ\0"sv,
             "an xz file", &KindAdvice::compressed},
    FileKind{"BZh"sv, "a bzip2 file", &KindAdvice::compressed},
    FileKind{"PK\x03\x04"sv, "a ZIP archive or an Office document", &KindAdvice::archive},
    FileKind{"7z\xbc\xaf\x27\x1c"sv, "a 7z archive", &KindAdvice::compressed},
    FileKind{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"sv, "a Word or Excel file", &KindAdvice::document},
    FileKind{"PAR1\x15"sv, "a Parquet file", &KindAdvice::document},
    FileKind{"ARROW1\0\0"sv, "an Arrow file", &KindAdvice::document},
    FileKind{"%PDF-"sv, "a PDF document", &KindAdvice::document},
    FileKind{"\xff\xfe\0\0"sv, "text in UTF-32", &KindAdvice::encoding},
    FileKind{"\0\0\xfe\xff"sv, "text in UTF-32", &KindAdvice::encoding},
    FileKind{"\xff\xfe"sv, "text in UTF-16", &KindAdvice::encoding},
    FileKind{"\xfe\xff"sv, "text in UTF-16", &KindAdvice::encoding},
    FileKind{"\x89PNG\r\n"sv, "a PNG image", &KindAdvice::image},
    FileKind{"\xff\xd8\xff"sv, "a JPEG image", &KindAdvice::image},
    FileKind{"GIF8"sv, "a GIF image", &KindAdvice::image},
    FileKind{"II*\0"sv, "a TIFF image", &KindAdvice::image},
    FileKind{"MM\0*"sv, "a TIFF image", &KindAdvice::image},
    FileKind{"TROUPETK"sv, "a file of tokens", &KindAdvice::tokens},
};

bool is_webp(std::string_view begin) {
  return begin.starts_with("RIFF") && begin.size() >= 12 && begin.substr(8, 4) == "WEBP";
}

} // namespace

Status expect_text(std::string_view begin, std::string_view name, const KindAdvice& advice) {
  const auto* const found = std::ranges::find_if(
      kinds, [&](const FileKind& kind) { return begin.starts_with(kind.magic); });
  if (found != kinds.end())
    return fail(Errc::data, "{}: this is {}, not plain text: {}", echoed(name), found->name,
                advice.*found->advice);
  if (is_webp(begin))
    return fail(Errc::data, "{}: this is a WebP image, not plain text: {}", echoed(name),
                advice.image);
  return {};
}

} // namespace troupe::data
