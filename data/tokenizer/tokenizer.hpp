/// Converts text to tokens and back. A tokenizer is data: tokens, merges of two tokens into one,
/// and the rule that splits a text into words (Radford et al. 2019: byte-level byte pair encoding).
#pragma once

#include "core/error.hpp"
#include "data/tokenizer/added_tokens.hpp"
#include "data/tokenizer/merges.hpp"
#include "data/tokenizer/split.hpp"
#include "data/tokenizer/vocabulary.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::data {

struct TokenizerParts {
  Vocabulary vocabulary; ///< must contain each byte as a token
  Merges merges;
  SplitRule split = SplitRule::gpt2;
  bool whole_words = false; ///< a word that is a token becomes that token regardless of merges
  /// Found in this order: the second set in the text that the first leaves.
  std::array<AddedTokens, 2> added;
  /// Token after each document of a data set; if empty, a new one after all others.
  std::optional<TokenId> end_of_document;
};

/// Immutable.
class Tokenizer {
public:
  /// Errors (Errc::data): a byte that is not a token; an end of document that is not a token.
  static Result<std::shared_ptr<const Tokenizer>> make(TokenizerParts parts);

  std::int64_t vocabulary_size() const { return parts_.vocabulary.size(); } ///< ids are less
  TokenId end_of_document() const { return *parts_.end_of_document; }
  const TokenizerParts& parts() const { return parts_; }
  TokenId of_byte(unsigned char byte) const { return bytes_[byte]; }

  /// Appends the bytes of tokens, which need not be UTF-8. Errors (Errc::data): an id without a
  /// token.
  Status decode(std::span<const TokenId> ids, std::string& bytes) const;

  /// Returns 64 hexadecimal digits that are equal for tokenizers with equal output on all texts.
  const std::string& fingerprint() const { return fingerprint_; }

private:
  explicit Tokenizer(TokenizerParts parts) : parts_{std::move(parts)} {}
  Status find_bytes();
  Status find_end();

  TokenizerParts parts_;
  std::array<TokenId, 256> bytes_ = {};
  std::string fingerprint_;
};
using TokenizerPtr = std::shared_ptr<const Tokenizer>;

/// Encodes texts in one thread. Caches the tokens of words, a few megabytes.
class Encoder {
public:
  explicit Encoder(TokenizerPtr tokenizer) : tokenizer_{std::move(tokenizer)} {}

  const Tokenizer& tokenizer() const { return *tokenizer_; }
  /// Appends the tokens of a text. Bytes that are not UTF-8 become tokens of bytes. Words of more
  /// than 1 MiB are encoded in chunks of that size to bound memory; where chunks meet, tokens may
  /// differ from those of Hugging Face.
  void encode(std::string_view text, std::vector<TokenId>& ids);

private:
  void encode_between(std::size_t added, std::string_view text, std::vector<TokenId>& ids);
  void encode_words(std::string_view text, std::vector<TokenId>& ids);
  void encode_in_parts(std::string_view word, std::vector<TokenId>& ids);
  void encode_word(std::string_view word, std::vector<TokenId>& ids);
  void compute(std::string_view word);

  TokenizerPtr tokenizer_;
  WordMerger merger_;
  std::vector<TokenId> word_; ///< tokens of the last computed word
  MapOfBytes<std::vector<TokenId>> known_;
};

} // namespace troupe::data
