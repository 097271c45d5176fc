#include "data/tokenizer/added_tokens.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace troupe::data {

AddedTokens::AddedTokens(std::vector<Token> tokens) : tokens_{std::move(tokens)} {
  std::ranges::stable_sort(tokens_, {}, &Token::text);
  const auto repeated = std::ranges::unique(tokens_, {}, &Token::text);
  tokens_.erase(repeated.begin(), repeated.end());
  for (const auto& token : tokens_)
    begins_[static_cast<unsigned char>(token.text[0])] = true;
}

std::optional<AddedTokens::Found> AddedTokens::find(std::string_view text) const {
  for (std::size_t at = 0; at < text.size() && !tokens_.empty(); ++at) {
    if (!begins_[static_cast<unsigned char>(text[at])])
      continue;
    if (const auto* const token = longest_at_begin(text.substr(at)))
      return Found{at, token->text.size(), token->id};
  }
  return std::nullopt;
}

/// Tokens with a common prefix are adjacent in tokens_, the shortest first.
const AddedTokens::Token* AddedTokens::longest_at_begin(std::string_view text) const {
  const Token* longest = nullptr;
  std::span left{tokens_};
  for (std::size_t i = 0; i < text.size() && !left.empty(); ++i) {
    const auto byte = [i](const Token& token) { return static_cast<unsigned char>(token.text[i]); };
    const auto next = static_cast<unsigned char>(text[i]);
    if (byte(left.front()) != next || byte(left.back()) != next)
      left = std::ranges::equal_range(left, next, {}, byte);
    if (!left.empty() && left.front().text.size() == i + 1) {
      longest = &left.front();
      left = left.subspan(1);
    }
  }
  return longest;
}

} // namespace troupe::data
