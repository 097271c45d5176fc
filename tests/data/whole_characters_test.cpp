#include "data/tokenizer/characters.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>

using troupe::data::whole_characters;

TEST_CASE("an incomplete UTF-8 character waits for its remaining bytes") {
  const std::string text = "a\u00e9\u20ac\U0001F600"; // of 1, 2, 3 and 4 bytes
  const std::size_t whole[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10};
  for (std::size_t bytes = 0; bytes <= text.size(); ++bytes) {
    CAPTURE(bytes);
    CHECK(whole_characters(text.substr(0, bytes)) == whole[bytes]);
  }
}

TEST_CASE("an invalid UTF-8 sequence does not wait") {
  CHECK(whole_characters("\xFF") == 1);
  CHECK(whole_characters("\xC0") == 1);
  CHECK(whole_characters("\xE0\x80") == 2); // overlong
  CHECK(whole_characters("\xED\xA0") == 2); // surrogate
  CHECK(whole_characters("\xF4\x90") == 2); // beyond U+10FFFF
  CHECK(whole_characters("\x80\x80\x80\x80\x80") == 5);
}
