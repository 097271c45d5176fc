/// Small vocabularies, as files of others have them, in a folder that goes with the test case.
#pragma once

#include "files.hpp"

#include "troupe/data/tokenizer/detail/byte_level.hpp"
#include "troupe/data/tokenizer/open.hpp"

#include <nlohmann/json.hpp>

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace troupe::data::testing {

using Json = nlohmann::json;

/// {character of a byte: byte, ...}
inline Json byte_vocabulary() {
  const auto character = [](int code) {
    std::string text{static_cast<char>(0xC0 | (code >> 6)),
                     static_cast<char>(0x80 | (code & 0x3F))};
    return code < 0x80 ? std::string(1, static_cast<char>(code)) : text;
  };
  Json vocabulary = Json::object();
  for (int code = '!'; code < 256 + 68; ++code)
    if (const auto bytes = bytes_of_characters(character(code)))
      vocabulary[character(code)] = static_cast<int>(static_cast<unsigned char>((*bytes)[0]));
  return vocabulary;
}

/// Tokens of bytes, ab (256), abc (257) and <|endoftext|> (258).
inline Json small_vocabulary() {
  auto vocabulary = byte_vocabulary();
  vocabulary["ab"] = 256;
  vocabulary["abc"] = 257;
  vocabulary["<|endoftext|>"] = 258;
  return vocabulary;
}

/// As Hugging Face writes it.
inline Json small_tokenizer() {
  const Json end = {
      {"id", 258}, {"content", "<|endoftext|>"}, {"special", true}, {"normalized", false}};
  const Json model = {{"type", "BPE"}, {"vocab", small_vocabulary()}, {"merges", {"a b", "ab c"}}};
  return {
      {"version", "1.0"},
      {"added_tokens", Json::array({end})},
      {"normalizer", nullptr},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
      {"model", model}};
}

/// As tiktoken has them: base 64 of single bytes, and of ab and abc.
inline std::string small_ranks() {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t byte = 0; byte < 256; ++byte)
    text += std::string{digits[byte >> 2], digits[(byte & 3) << 4]} + "== " + std::to_string(byte) +
            "\n";
  return text + "YWI= 256\nYWJj 257\n";
}

class TokenizerFiles {
public:
  std::string write(const std::string& name, std::string_view text) const {
    write_bytes(folder_ / name, text);
    return (folder_ / name).string();
  }
  std::string write_json(const std::string& name, const Json& json) const {
    return write(name, std::string_view{json.dump()});
  }
  const std::filesystem::path& folder() const { return folder_.path(); }

  static std::string refusal(const std::string& name, std::string_view split = split_of_file) {
    const auto opened = open_tokenizer(name, split);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().exit_code() == 2);
    return opened.error().message;
  }

private:
  ScratchFolder folder_;
};

inline std::vector<TokenId> encoded(const TokenizerPtr& tokenizer, std::string_view text) {
  std::vector<TokenId> ids;
  Encoder{tokenizer}.encode(text, ids);
  return ids;
}

inline std::string decoded(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  std::string bytes;
  REQUIRE(tokenizer.decode(ids, bytes));
  return bytes;
}

} // namespace troupe::data::testing
