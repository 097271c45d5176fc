#include "core/sha256.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;

// FIPS 180-2, appendix B.
TEST_CASE("sha256 matches the published test vectors") {
  Sha256 sha;
  CHECK(sha.hex_digest() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  sha.update("abc");
  CHECK(sha.hex_digest() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  for (int i = 0; i < 1000; ++i)
    sha.update(std::string(1000, 'a'));
  CHECK(sha.hex_digest() == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("sha256 does not depend on the chunks") {
  Sha256 whole, pieces;
  whole.update("the same text");
  pieces.update("the same");
  pieces.update("");
  pieces.update(" text");
  CHECK(whole.hex_digest() == pieces.hex_digest());
}
