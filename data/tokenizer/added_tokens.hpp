/// Tokens that are found in a text as they are written, before it is cut into words.
#pragma once

#include "vocabulary.hpp"

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

  void add(Token token);
  /// The first one in a text; of several that begin there the longest.
  std::optional<Found> find(std::string_view text) const;
  const std::vector<Token>& all() const { return tokens_; } ///< the longest first

private:
  std::vector<Token> tokens_;
  std::array<bool, 256> begins_ = {}; ///< whether one begins with the byte
};

} // namespace troupe::data
