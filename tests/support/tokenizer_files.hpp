/// Small vocabularies in the file formats of other projects, in a folder that is removed with the
/// test case.
#pragma once

#include "data/tokenizer/detail/byte_level.hpp"
#include "data/tokenizer/open.hpp"
#include "tests/support/image_files.hpp"

#include <nlohmann/json.hpp>

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace troupe::testing {

using Json = nlohmann::json;

/// Returns {character of a byte: byte, ...}.
inline Json byte_vocabulary() {
  const auto character = [](int code) {
    std::string text{static_cast<char>(0xC0 | (code >> 6)),
                     static_cast<char>(0x80 | (code & 0x3F))};
    return code < 0x80 ? std::string(1, static_cast<char>(code)) : text;
  };
  Json vocabulary = Json::object();
  for (int code = '!'; code < 256 + 68; ++code)
    if (const auto bytes = data::bytes_of_characters(character(code)))
      vocabulary[character(code)] = static_cast<int>(static_cast<unsigned char>((*bytes)[0]));
  return vocabulary;
}

/// Tokens of single bytes, ab (256), abc (257) and <|endoftext|> (258).
inline Json small_vocabulary() {
  auto vocabulary = byte_vocabulary();
  vocabulary["ab"] = 256;
  vocabulary["abc"] = 257;
  vocabulary["<|endoftext|>"] = 258;
  return vocabulary;
}

/// The vocabulary in Hugging Face's format.
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

inline std::string to_base64(std::string_view bytes) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned three = 0;
    for (std::size_t k = 0; k < 3; ++k)
      three = three << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0);
    for (std::size_t k = 0; k < 4; ++k)
      text += i + k > bytes.size() ? '=' : digits[three >> (18 - 6 * k) & 63];
  }
  return text;
}

/// Returns tiktoken's format: all single bytes and then `tokens`, in base 64.
inline std::string ranks_of(const std::vector<std::string>& tokens) {
  std::string text;
  int rank = 0;
  for (; rank < 256; ++rank)
    text += to_base64(std::string(1, static_cast<char>(rank))) + " " + std::to_string(rank) + "\n";
  for (const auto& token : tokens)
    text += to_base64(token) + " " + std::to_string(rank++) + "\n";
  return text;
}

inline std::string small_ranks() {
  return ranks_of({"ab", "abc"});
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

  static std::string refusal(const std::string& name,
                             TokenizerSplit split = TokenizerSplit::automatic) {
    const auto opened = data::open_tokenizer(name, split);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().exit_code() == 2);
    return opened.error().message;
  }

private:
  ScratchFolder folder_;
};

inline std::vector<data::TokenId> encoded(const data::TokenizerPtr& tokenizer,
                                          std::string_view text) {
  std::vector<data::TokenId> ids;
  data::Encoder{tokenizer}.encode(text, ids);
  return ids;
}

inline std::string decoded(const data::Tokenizer& tokenizer,
                           const std::vector<data::TokenId>& ids) {
  std::string bytes;
  REQUIRE(tokenizer.decode(ids, bytes));
  return bytes;
}

} // namespace troupe::testing
