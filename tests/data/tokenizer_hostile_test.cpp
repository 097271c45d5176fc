// Tests vocabularies with false contents: each is refused with a reason, and none crashes the
// reader.
#include "tests/support/fuzz.hpp"
#include "tests/support/mutations.hpp"
#include "tests/support/peak_memory.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/tokenizer_files.hpp"

#include <catch2/matchers/catch_matchers_string.hpp>

#include <array>
#include <cstdlib>

using namespace troupe;
using namespace troupe::data;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;
using troupe::testing::MutationRandom;

namespace {

using Mutation = void (*)(MutationRandom&, std::string&);
constexpr std::array<Mutation, 5> mutations = {
    troupe::testing::flip_bytes, troupe::testing::cut, troupe::testing::repeat_a_piece,
    troupe::testing::remove_a_piece, troupe::testing::overwrite_a_number};

/// Opens mutated files; those that are accepted must still decode a text to itself.
void open_mutated(const TokenizerFiles& files, const std::string& name, const std::string& whole,
                  TokenizerSplit split = TokenizerSplit::automatic) {
  MutationRandom random{7};
  for (unsigned i = 0; i < troupe::testing::fuzzed_files(); ++i) {
    auto text = whole;
    mutations[random() % mutations.size()](random, text);
    const auto tokenizer = open_tokenizer(files.write(name, text), split);
    INFO(name << " " << i);
    if (tokenizer)
      CHECK(decoded(**tokenizer, encoded(*tokenizer, "abc \xff")) == "abc \xff");
    else
      CHECK_FALSE(tokenizer.error().message.empty());
  }
}

} // namespace

TEST_CASE_METHOD(TokenizerFiles, "a vocabulary with wrong ids is refused") {
  write("merges.txt", "a b\n");
  const auto refused = [this](const char* token, const Json& id) {
    auto vocabulary = small_vocabulary();
    vocabulary[token] = id;
    return refusal(write_json("vocab.json", vocabulary));
  };
  CHECK_THAT(refused("x", 256), ContainsSubstring("both have the id 256"));
  CHECK_THAT(refused("x", -1), ContainsSubstring("ids are 0 to 1048575"));
  CHECK_THAT(refused("x", 1 << 20), ContainsSubstring("ids are 0 to 1048575"));
  CHECK_THAT(refused("x", 1.5), ContainsSubstring("is not a whole number"));
  CHECK_THAT(refused("x", 18446744073709551615U), ContainsSubstring("ids are 0 to"));
  auto vocabulary = small_vocabulary();
  vocabulary.erase("x");
  CHECK_THAT(refusal(write_json("vocab.json", vocabulary)),
             ContainsSubstring("no token is the single byte 0x78"));
}

TEST_CASE_METHOD(TokenizerFiles, "merges of unknown tokens are refused with their line") {
  const auto path = write_json("vocab.json", small_vocabulary());
  const auto refused = [&](std::string_view merges) {
    write("merges.txt", merges);
    return refusal(path);
  };
  CHECK_THAT(refused("#version: 0.2\na b\nab zz\n"),
             ContainsSubstring("merges.txt:3: there is no token zz"));
  CHECK_THAT(refused("a c\n"), ContainsSubstring("there is no token ac"));
  CHECK_THAT(refused("a b c\n"), ContainsSubstring("merges.txt:1: a b c is not a merge"));
  CHECK_THAT(refused("\xff b\n"), ContainsSubstring("there is no token"));
  std::filesystem::remove(folder() / "merges.txt");
  CHECK_THAT(refusal(path), ContainsSubstring("there is no merges.txt"));
}

TEST_CASE_METHOD(TokenizerFiles, "invalid or too deeply nested JSON is refused with its location") {
  CHECK_THAT(refusal(write("a.json", std::string_view{"{\n\"a\": 1,\n}"})),
             ContainsSubstring("a.json:3: not JSON"));
  CHECK_THAT(refusal(write("a.json", std::string_view{"{\"\xff\": 1}"})),
             ContainsSubstring("a.json:1: not JSON"));
  CHECK_THAT(refusal(write("a.json", std::string_view{"{\"a\": 1e999}"})),
             ContainsSubstring("a.json:1: a number is too large, here or below"));
  const std::string deep(1 << 20, '[');
  CHECK_THAT(refusal(write("a.json", deep)), ContainsSubstring("nested deeper than 32 levels"));
  std::filesystem::resize_file(folder() / "a.json", std::uintmax_t{1} << 33); // a sparse file
  const auto path = (folder() / "a.json").string();
  CHECK_THAT(refusal(path), ContainsSubstring("have at most"));
  if (!troupe::testing::is_sanitized())
    CHECK(troupe::testing::memory_of([&] {
            if (open_tokenizer(path))
              std::abort();
          }) < std::size_t{64} << 20);
}

TEST_CASE_METHOD(TokenizerFiles, "invalid ranks are refused with their line") {
  const auto refused = [this](std::string_view text) {
    return refusal(write("mine.tiktoken", text), TokenizerSplit::gpt2);
  };
  CHECK_THAT(refused("IQ== 0\n!!== 1\n"), ContainsSubstring("mine.tiktoken:2:"));
  CHECK_THAT(refused("IQ== 0\nIg== 0\n"), ContainsSubstring("both have the id 0"));
  CHECK_THAT(refused("IQ==\n"), ContainsSubstring("is not a token"));
  CHECK_THAT(refused("\t\t\t\tIQ== 0\n"), ContainsSubstring("is not a token"));
  CHECK_THAT(refused("IQ== 99999999999999999999\n"), ContainsSubstring("is not a token"));
  CHECK_THAT(refused("IQ== 0\n"), ContainsSubstring("no token is the single byte 0x00"));
}

TEST_CASE_METHOD(
    TokenizerFiles,
    "the largest number of added tokens does not slow down a text of their common prefix") {
  auto json = small_tokenizer();
  std::string common(200, 'a');
  for (int i = 0; i < 16000; ++i)
    json["added_tokens"].push_back(
        {{"id", 300 + i}, {"content", common + std::to_string(100'000 + i)}});
  const auto tokenizer = open_tokenizer(write_json("tokenizer.json", json)).value();
  // Every position begins like all tokens: comparing them one by one would take a minute.
  auto text = std::string(200'000, 'a') + "100007" + common + "115999";
  const auto ids = encoded(tokenizer, text);
  CHECK(std::ranges::count(ids, 307) == 1);
  CHECK(std::ranges::count(ids, 300 + 15999) == 1);
  json["added_tokens"].push_back({{"id", 299}, {"content", std::string(1025, 'x')}});
  CHECK_THAT(refusal(write_json("tokenizer.json", json)),
             ContainsSubstring("added tokens have at most 1024"));
}

TEST_CASE_METHOD(TokenizerFiles, "a word of any length is merged in bounded memory") {
  write("merges.txt", "a b\nab c\n");
  const auto tokenizer = open_tokenizer(write_json("vocab.json", small_vocabulary())).value();
  std::string word;
  while (word.size() < std::size_t{16} << 20)
    word += "abc";
  if (!troupe::testing::is_sanitized())
    CHECK(troupe::testing::memory_of([&] { encoded(tokenizer, word); }) < std::size_t{160} << 20);
  CHECK(decoded(*tokenizer, encoded(tokenizer, word)) == word);
}

TEST_CASE_METHOD(TokenizerFiles, "mutated vocabularies are read or refused", "[fuzz]") {
  write("merges.txt", "a b\nab c\n");
  open_mutated(*this, "vocab.json", small_vocabulary().dump());
}

TEST_CASE_METHOD(TokenizerFiles, "mutated merges are read or refused", "[fuzz]") {
  const auto path = write_json("vocab.json", small_vocabulary());
  MutationRandom random{11};
  for (unsigned i = 0; i < troupe::testing::fuzzed_files(); ++i) {
    std::string merges = "#version: 0.2\na b\nab c\n";
    mutations[random() % mutations.size()](random, merges);
    write("merges.txt", merges);
    if (const auto tokenizer = open_tokenizer(path))
      CHECK(decoded(**tokenizer, encoded(*tokenizer, "abc \xff")) == "abc \xff");
  }
}

TEST_CASE_METHOD(TokenizerFiles, "mutated tokenizer.json files are read or refused", "[fuzz]") {
  open_mutated(*this, "tokenizer.json", small_tokenizer().dump());
}

TEST_CASE_METHOD(TokenizerFiles, "mutated rank files are read or refused", "[fuzz]") {
  open_mutated(*this, "mine.tiktoken", small_ranks(), TokenizerSplit::gpt2);
}
