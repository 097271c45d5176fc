#include "data/tokenizer/open.hpp"
#include "data/tokens/token_file.hpp"
#include "tests/support/fuzz.hpp"
#include "tests/support/image_files.hpp"
#include "tests/support/mutations.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace troupe;
using namespace troupe::data;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

using Ids = std::vector<TokenId>;

class TokenFiles {
public:
  /// Writes ids of bytes; 256 ends a document.
  TokenTraits write(const Ids& ids, const TokenizerPtr& tokenizer = bytes()) const {
    auto writer = TokenWriter::create(path(), *tokenizer, std::string(64, '5')).value();
    const std::span all{ids};
    REQUIRE(writer.append(all.first(all.size() / 2)));
    REQUIRE(writer.append(all.subspan(all.size() / 2)));
    return writer.commit().value();
  }
  static TokenizerPtr bytes() { return open_tokenizer("bytes").value(); }
  /// Returns a tokenizer with ids up to 70,000.
  static TokenizerPtr wide() {
    TokenizerParts parts = bytes()->parts();
    REQUIRE(parts.vocabulary.add(70'000, "far"));
    return Tokenizer::make(std::move(parts)).value();
  }
  std::filesystem::path path() const { return folder_ / "a.tokens"; }
  std::string refusal() const {
    const auto opened = TokenFile::open(path());
    REQUIRE_FALSE(opened);
    return opened.error().message;
  }

private:
  ScratchFolder folder_;
};

} // namespace

TEST_CASE_METHOD(TokenFiles,
                 "a token file returns its tokens, its documents and the source's digest") {
  const Ids ids{1, 2, 256, 3, 255, 256, 256, 9};
  const auto written = write(ids);
  CHECK(std::filesystem::file_size(path()) == 256 + 16 + 3 * 8);
  const auto file = TokenFile::open(path()).value();
  Ids found(ids.size());
  REQUIRE(file->read(0, found));
  CHECK(found == ids);
  Ids two(2);
  REQUIRE(file->read(4, two));
  CHECK(two == Ids{255, 256});
  const auto& traits = file->traits();
  CHECK((traits.tokens == 8 && traits.documents == 3 && traits.vocabulary_size == 257));
  CHECK(traits.end_of_document == 256);
  CHECK(traits.tokenizer == bytes()->fingerprint());
  CHECK(traits.sources == std::string(64, '5'));
  CHECK((traits.content == written.content && traits.content.size() == 64));
  CHECK(file->document_end(0) == 3);
  CHECK(file->document_end(2) == 7);
}

TEST_CASE_METHOD(TokenFiles, "ids above 16 bits are stored in 32 bits") {
  const Ids ids{70'000, 1, 256, 65'536};
  write(ids, wide());
  CHECK(std::filesystem::file_size(path()) == 256 + 4 * 4 + 8);
  Ids found(4);
  REQUIRE(TokenFile::open(path()).value()->read(0, found));
  CHECK(found == ids);
}

TEST_CASE_METHOD(TokenFiles, "an unfinished token file does not replace the existing one") {
  write({1, 2, 3});
  {
    auto writer = TokenWriter::create(path(), *bytes(), std::string(64, '6')).value();
    REQUIRE(writer.append(Ids{4, 5, 6, 7}));
  }
  CHECK(TokenFile::open(path()).value()->traits().tokens == 3);
}

TEST_CASE_METHOD(TokenFiles, "a damaged token file is refused with the reason") {
  write({1, 2, 256, 3});
  const auto whole = read_bytes(path());
  const auto damaged = [&](std::size_t at, char byte) {
    auto bytes = whole;
    bytes[at] = byte;
    write_bytes(path(), std::string_view{bytes});
    return refusal();
  };
  CHECK_THAT(damaged(0, 'X'), ContainsSubstring("not a token file"));
  CHECK_THAT(damaged(8, 9), ContainsSubstring("version 9"));
  CHECK_THAT(damaged(12, 4), ContainsSubstring("257 ids of 4 bytes"));
  CHECK_THAT(damaged(24, 5), ContainsSubstring("do not add up to its"));
  CHECK_THAT(damaged(31, '\x7f'), ContainsSubstring("do not add up to its"));
  CHECK_THAT(damaged(264, 9), ContainsSubstring("document 0 ends at 9"));
  write_bytes(path(), std::string_view{whole}.substr(0, whole.size() - 1));
  CHECK_THAT(refusal(), ContainsSubstring("do not add up to its"));
  write_bytes(path(), std::string_view{});
  CHECK_THAT(refusal(), ContainsSubstring("it has only 0 bytes"));
}

TEST_CASE_METHOD(TokenFiles, "an id outside of the vocabulary is detected when it is read") {
  write({1, 2, 256, 3});
  auto bytes = read_bytes(path());
  bytes[256 + 3] = '\x40';
  write_bytes(path(), std::string_view{bytes});
  const auto file = TokenFile::open(path()).value();
  Ids found(1);
  CHECK(file->read(0, found));
  const auto read = file->read(1, found);
  REQUIRE_FALSE(read);
  CHECK(read.error().code == Errc::corrupt);
}

TEST_CASE_METHOD(TokenFiles, "mutated token files are read or refused", "[fuzz]") {
  write({1, 2, 256, 3, 4, 5, 256});
  const auto whole = read_bytes(path());
  troupe::testing::MutationRandom random{3};
  for (unsigned i = 0; i < troupe::testing::fuzzed_files(); ++i) {
    auto bytes = whole;
    if (random() % 2 == 0)
      troupe::testing::overwrite_a_number(random, bytes);
    else
      troupe::testing::cut(random, bytes);
    write_bytes(path(), std::string_view{bytes});
    const auto file = TokenFile::open(path());
    if (!file)
      continue;
    Ids found(static_cast<std::size_t>((*file)->traits().tokens));
    if ((*file)->read(0, found))
      for (const auto id : found)
        CHECK(id < (*file)->traits().vocabulary_size);
  }
}
