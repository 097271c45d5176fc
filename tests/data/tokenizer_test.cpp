#include "data/tokenizer/cut.hpp"
#include "tests/support/tokenizer_files.hpp"

#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>

using namespace troupe;
using namespace troupe::data;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

using Ids = std::vector<TokenId>;

} // namespace

TEST_CASE("bytes are tokens themselves, and 256 ends a document") {
  const auto bytes = open_tokenizer("bytes").value();
  CHECK(bytes->vocabulary_size() == 257);
  CHECK(bytes->end_of_document() == 256);
  CHECK(encoded(bytes, "a\xff\n") == Ids{97, 255, 10});
  CHECK(decoded(*bytes, {255, 0, 97}) == std::string("\xff\0a", 3));
}

TEST_CASE_METHOD(TokenizerFiles, "every text is decoded to itself, even if it is not UTF-8") {
  write("merges.txt", "a b\nab c\n");
  const auto tokenizer = open_tokenizer(write_json("vocab.json", small_vocabulary())).value();
  for (const std::string_view text : {"abc abcab",
                                      "\xff\xfe"
                                      "ab\xc3",
                                      "\xed\xa0\x80 \xf0\x9f", ""})
    CHECK(decoded(*tokenizer, encoded(tokenizer, text)) == text);
  CHECK(encoded(tokenizer, "abcab\xff") == Ids{257, 256, 255});
}

TEST_CASE_METHOD(TokenizerFiles,
                 "a .tiktoken file merges in the order of the merged tokens' ranks") {
  const auto path = write("mine.tiktoken", small_ranks());
  const auto tokenizer = open_tokenizer(path, TokenizerSplit::gpt2).value();
  CHECK(encoded(tokenizer, "abcab abc") == Ids{257, 256, 32, 257});
  CHECK(tokenizer->end_of_document() == 258);
  CHECK_THAT(refusal(path), ContainsSubstring("does not define how texts are split into words"));
  const auto known = open_tokenizer(write("r50k_base.tiktoken", small_ranks())).value();
  CHECK(known->end_of_document() == 50256);
  CHECK(known->parts().split == SplitRule::gpt2);
}

TEST_CASE_METHOD(TokenizerFiles, "added tokens are found in the text, the longest first") {
  auto json = small_tokenizer();
  json["added_tokens"].push_back(
      {{"id", 259}, {"content", "<|endoftext|>!"}, {"normalized", false}});
  json["added_tokens"].push_back({{"id", 260}, {"content", "cab"}, {"normalized", true}});
  const auto tokenizer = open_tokenizer(write_json("tokenizer.json", json)).value();
  CHECK(encoded(tokenizer, "abcab<|endoftext|>ab<|endoftext|>!") == Ids{256, 260, 258, 256, 259});
  CHECK(tokenizer->end_of_document() == 258);
  CHECK(decoded(*tokenizer, {260, 258}) == "cab<|endoftext|>");
}

TEST_CASE_METHOD(TokenizerFiles,
                 "with GPT-2's files the end-of-document marker in a text is plain text") {
  write("merges.txt", "a b\n");
  const auto tokenizer = open_tokenizer(write_json("vocab.json", small_vocabulary())).value();
  CHECK(tokenizer->end_of_document() == 258);
  CHECK(std::ranges::count(encoded(tokenizer, "<|endoftext|>"), 258) == 0);
}

TEST_CASE_METHOD(TokenizerFiles,
                 "a word that is a token is not merged if the file has ignore_merges") {
  auto json = small_tokenizer();
  json["model"]["merges"] = Json::array();
  CHECK(encoded(open_tokenizer(write_json("a.json", json)).value(), "abc") == Ids{97, 98, 99});
  json["model"]["ignore_merges"] = true;
  CHECK(encoded(open_tokenizer(write_json("b.json", json)).value(), "abc") == Ids{257});
}

TEST_CASE("tiktoken's newer expression splits long digits and final spaces like Oniguruma") {
  CHECK(first_word(SplitRule::cl100k, "12345678b") == 3);
  CHECK(first_word(SplitRule::cl100k_newer, "12345678b") == 8);
  CHECK(first_word(SplitRule::cl100k, " \n ") == 2);
  CHECK(first_word(SplitRule::cl100k_newer, " \n ") == 3);
  CHECK(first_word(SplitRule::cl100k_newer, " \n\n  y") == 3);
}

TEST_CASE("a text may be split before a line end that follows a letter or digit of any script") {
  CHECK(last_cut("a\nb9\n!\n") == 4);
  CHECK(last_cut("\u4e2d\nx") == 3);
  CHECK(last_cut("\u3002\nx") == 0); // punctuation
  CHECK(last_cut("\xb8\nx") == 0);   // not a character
  CHECK(last_cut("a") == 0);
}

TEST_CASE_METHOD(TokenizerFiles,
                 "a text may be split at line ends of every kind, after any character") {
  write("merges.txt", "a b\n");
  const auto vocabulary = write_json("vocab.json", small_vocabulary());
  const auto gpt2 = cut_for(*open_tokenizer(vocabulary, TokenizerSplit::gpt2).value());
  const auto cl100k = cut_for(*open_tokenizer(vocabulary, TokenizerSplit::cl100k).value());
  CHECK(gpt2("ab\r\ncd", 0) == 2);
  CHECK(cl100k("ab\r\ncd", 0) == 2);
  CHECK(gpt2("ab.\r\ncd", 0) == 3);
  CHECK(cl100k("ab.\r\ncd", 0) == 5);
  CHECK(cl100k("ab.\n", 0) == 0); // another line end may follow
  CHECK(cl100k("ab\ncd.\n", 0) == 2);
  CHECK(gpt2("ab. \t\ncd", 0) == 3);
  CHECK(gpt2("\u3002\u3000\n\nx", 0) == 3);
  CHECK(gpt2("\xb8\nx", 0) == 1);
  CHECK(gpt2("\n\nx", 0) == 0);
  CHECK(gpt2("ab cd", 0) == 0);
  CHECK(gpt2("a\nb\nc", 3) == 3); // the search begins at the given position
  CHECK(gpt2("a\nb\nc", 4) == 0);
}

TEST_CASE_METHOD(TokenizerFiles, "a text of bytes may be split anywhere") {
  CHECK(cut_for(*open_tokenizer("bytes").value())("abc", 0) == 3);
}

TEST_CASE_METHOD(TokenizerFiles,
                 "no text is split within an added token that contains a line end") {
  const auto cut_with = [&](const std::string& added) {
    auto json = small_tokenizer();
    json["added_tokens"].push_back(
        {{"id", 259}, {"content", added}, {"special", true}, {"normalized", false}});
    return cut_for(*open_tokenizer(write_json("tokenizer.json", json)).value())("x.\ny", 0);
  };
  CHECK(cut_with("<|end|>") == 2);
  CHECK(cut_with(".\n") == 0);
  CHECK(cut_with(". ") == 0);
}

TEST_CASE_METHOD(TokenizerFiles,
                 "tokenizers are equal if they give the same tokens for all texts") {
  write("merges.txt", "a b\nab c\n");
  const auto first = open_tokenizer(write_json("vocab.json", small_vocabulary())).value();
  CHECK(open_tokenizer(folder().string()).value()->fingerprint() == first->fingerprint());
  write("merges.txt", "a b\n");
  CHECK(open_tokenizer(folder().string()).value()->fingerprint() != first->fingerprint());
}

TEST_CASE_METHOD(TokenizerFiles, "a word of a million letters is tokenized in linear time") {
  write("merges.txt", "a b\nab c\n");
  const auto tokenizer = open_tokenizer(write_json("vocab.json", small_vocabulary())).value();
  std::string word;
  while (word.size() < 1'000'000)
    word += "abc";
  const auto ids = encoded(tokenizer, word);
  CHECK(ids.size() == word.size() / 3); // in quadratic time the test would time out
  CHECK(std::ranges::count(ids, 257) == std::ssize(ids));
}

TEST_CASE_METHOD(TokenizerFiles,
                 "an empty Sequence is no normalizer, and one with only ByteLevel is ByteLevel") {
  auto json = small_tokenizer();
  const auto plain = open_tokenizer(write_json("tokenizer.json", json)).value()->fingerprint();
  json["normalizer"] = {{"type", "Sequence"}, {"normalizers", Json::array()}};
  json["pre_tokenizer"] = {{"type", "Sequence"},
                           {"pretokenizers", Json::array({json["pre_tokenizer"]})}};
  const auto opened = open_tokenizer(write_json("tokenizer.json", json));
  INFO((opened ? "" : opened.error().message));
  REQUIRE(opened);
  CHECK((*opened)->fingerprint() == plain);
  json["pre_tokenizer"]["pretokenizers"][0]["use_regex"] = false;
  CHECK_THAT(refusal(write_json("tokenizer.json", json)), ContainsSubstring("use_regex is false"));
  json["pre_tokenizer"]["pretokenizers"] = Json::array();
  CHECK_THAT(refusal(write_json("tokenizer.json", json)), ContainsSubstring("pretokenizers is []"));
}

TEST_CASE_METHOD(TokenizerFiles, "unsupported settings of a tokenizer.json are refused") {
  const auto refused = [this](const char* pointer, const Json& value) {
    auto json = small_tokenizer();
    json[Json::json_pointer{pointer}] = value;
    return refusal(write_json("tokenizer.json", json));
  };
  CHECK_THAT(refused("/model/type", "Unigram"), ContainsSubstring("model.type is \"Unigram\""));
  CHECK_THAT(refused("/normalizer", {{"type", "NFC"}}), ContainsSubstring("normalizer is"));
  CHECK_THAT(refused("/normalizer", {{"type", "Sequence"}, {"normalizers", {{{"type", "NFC"}}}}}),
             ContainsSubstring("normalizer is"));
  CHECK_THAT(refused("/normalizer", {{"type", "Sequence"}}), ContainsSubstring("normalizer is"));
  CHECK_THAT(refused("/pre_tokenizer", {{"type", "Metaspace"}}), ContainsSubstring("Metaspace"));
  CHECK_THAT(refused("/pre_tokenizer", nullptr), ContainsSubstring("pre_tokenizer is null"));
  CHECK_THAT(refused("/pre_tokenizer/add_prefix_space", true),
             ContainsSubstring("add_prefix_space is true"));
  CHECK_THAT(refused("/pre_tokenizer/use_regex", false), ContainsSubstring("use_regex is false"));
  CHECK_THAT(refused("/model/byte_fallback", true), ContainsSubstring("model.byte_fallback"));
  CHECK_THAT(refused("/model/dropout", 0.1), ContainsSubstring("model.dropout is 0.1"));
  CHECK_THAT(refused("/model/end_of_word_suffix", "</w>"), ContainsSubstring("end_of_word_suffix"));
  CHECK_THAT(refused("/added_tokens/0/lstrip", true), ContainsSubstring("lstrip of token"));
  CHECK_THAT(
      refused("/pre_tokenizer",
              {{"type", "Sequence"},
               {"pretokenizers",
                {{{"type", "Split"}, {"pattern", {{"Regex", "\\w+"}}}, {"behavior", "Isolated"}},
                 {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}}}}),
      ContainsSubstring("the regular expression of pre_tokenizer's Split"));
  auto json = small_tokenizer();
  CHECK_THAT(refusal(write_json("tokenizer.json", json), TokenizerSplit::gpt2),
             ContainsSubstring("leave"));
}
