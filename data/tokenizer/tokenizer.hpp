/// From text to tokens and back. A tokenizer is data: tokens, merges of two into one, the rule by
/// which a text is cut into words (Radford et al. 2019: byte-level byte pair encoding).
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
  Vocabulary vocabulary; ///< each byte has to be a token
  Merges merges;
  SplitRule split = SplitRule::gpt2;
  bool whole_words = false; ///< a word that is a token becomes that, whatever merges say
  /// Found in this order: the second in what the first leave.
  std::array<AddedTokens, 2> added;
  /// The id behind each document of a data set; none: a new one behind all others.
  std::optional<TokenId> end_of_document;
};

/// Immutable.
class Tokenizer {
public:
  /// Errors (Errc::data): a byte that is no token; an end of documents that is none.
  static Result<std::shared_ptr<const Tokenizer>> make(TokenizerParts parts);

  std::int64_t vocabulary_size() const { return parts_.vocabulary.size(); } ///< ids are less
  TokenId end_of_document() const { return *parts_.end_of_document; }
  const TokenizerParts& parts() const { return parts_; }
  TokenId of_byte(unsigned char byte) const { return bytes_[byte]; }

  /// Appends the bytes of tokens, which need not be UTF-8. Errors (Errc::data): an id without one.
  Status decode(std::span<const TokenId> ids, std::string& bytes) const;

  /// 64 hexadecimal digits that tokenizers share which make the same of all texts.
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

/// Encodes texts, in one thread. It remembers words, some megabytes of them.
class Encoder {
public:
  explicit Encoder(TokenizerPtr tokenizer) : tokenizer_{std::move(tokenizer)} {}

  const Tokenizer& tokenizer() const { return *tokenizer_; }
  /// Appends the tokens of a text. What is no UTF-8 becomes tokens of its bytes. Words of more than
  /// 1 MiB are encoded in parts of that size, so that memory is bounded: where these meet, tokens
  /// may differ from those of Hugging Face.
  void encode(std::string_view text, std::vector<TokenId>& ids);

private:
  void encode_between(std::size_t added, std::string_view text, std::vector<TokenId>& ids);
  void encode_words(std::string_view text, std::vector<TokenId>& ids);
  void encode_in_parts(std::string_view word, std::vector<TokenId>& ids);
  void encode_word(std::string_view word, std::vector<TokenId>& ids);
  void compute(std::string_view word);

  TokenizerPtr tokenizer_;
  WordMerger merger_;
  std::vector<TokenId> word_; ///< the last one computed
  MapOfBytes<std::vector<TokenId>> known_;
};

} // namespace troupe::data
