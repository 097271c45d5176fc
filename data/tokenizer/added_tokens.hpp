/// Tokens that are found in a text as they are written, before it is cut into words.
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
  /// Of equal texts the first one counts.
  explicit AddedTokens(std::vector<Token> tokens);

  /// The first one in a text; of several that begin there the longest. Time: of a text's byte that
  /// of binary searches for as many bytes as it has in common with a token.
  std::optional<Found> find(std::string_view text) const;
  const std::vector<Token>& all() const { return tokens_; } ///< by their texts

private:
  /// The longest one that a text begins with, or null.
  const Token* longest_at_begin(std::string_view text) const;

  std::vector<Token> tokens_;
  std::array<bool, 256> begins_ = {}; ///< whether one begins with the byte
};

} // namespace troupe::data
