/// Tokens that are matched literally in a text before it is split into words.
#pragma once

#include "data/tokenizer/vocabulary.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::data {

class AddedTokens {
public:
  struct Token {
    std::string text; ///< not empty
    TokenId id = 0;
  };
  struct Found {
    std::size_t at = 0, bytes = 0;
    TokenId id = 0;
  };
  static constexpr std::size_t longest = 1024; ///< bytes of a token

  AddedTokens() = default;
  /// The first of several tokens with equal texts counts.
  explicit AddedTokens(std::vector<Token> tokens);

  /// Finds the first token in a text; if several begin there, the longest one. Time: for each byte
  /// of the text, one binary search per byte that it has in common with a token.
  std::optional<Found> find(std::string_view text) const;
  const std::vector<Token>& all() const { return tokens_; } ///< sorted by text

private:
  /// Returns the longest token that the text begins with, or null.
  const Token* longest_at_begin(std::string_view text) const;

  std::vector<Token> tokens_;
  std::array<bool, 256> begins_ = {}; ///< whether a token begins with this byte
};

} // namespace troupe::data
