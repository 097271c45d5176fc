#include "core/escape.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;

TEST_CASE("printable text is unchanged") {
  for (const char* text : {"", "resnet20", "a b/c.yaml", "Grüße, 世界, 🎭", "\\n is not a line"})
    CHECK(escaped(text) == text);
}

TEST_CASE("control characters are escaped") {
  CHECK(escaped("\x1b[2J") == "\\x1b[2J");
  CHECK(escaped("a\nb\tc\rd") == "a\\nb\\tc\\x0dd");
  CHECK(escaped("\x7f\xc2\x9b") == "\\x7f\\u{9b}");
  CHECK(escaped("\xe2\x80\xae"
                "fdp.exe") == "\\u{202e}fdp.exe"); // a right-to-left override
  CHECK(escaped(std::string_view{"\0", 1}) == "\\x00");
  CHECK(escaped_lines("a\nb\x1b") == "a\nb\\x1b");
}

TEST_CASE("bytes that are not UTF-8 are escaped one by one") {
  CHECK(escaped("\xff\xfe") == "\\xff\\xfe");
  CHECK(escaped("\xc3(") == "\\xc3(");
  CHECK(escaped("\xc0\xaf") == "\\xc0\\xaf");              // an overlong encoding
  CHECK(escaped("\xed\xa0\x80") == "\\xed\\xa0\\x80");     // a surrogate
  CHECK(escaped("\xf4\x90\x80\x80").starts_with("\\xf4")); // beyond Unicode
  CHECK(escaped("\xe4\xb8") == "\\xe4\\xb8");              // truncated
}

TEST_CASE("an echo is truncated after 200 displayed characters, never inside one") {
  const std::string long_text(1000, 'x');
  CHECK(echoed(long_text) == std::string(200, 'x') + "...");
  CHECK(echoed(std::string(200, 'x')) == std::string(200, 'x'));
  CHECK(echoed("世界世界", 3) == "世界世...");
  CHECK(echoed("\x1b\x1b", 6) == "\\x1b...");
}
