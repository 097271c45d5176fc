#include "added_tokens.hpp"

#include <algorithm>

namespace troupe::data {

void AddedTokens::add(Token token) {
  begins_[static_cast<unsigned char>(token.text[0])] = true;
  const auto behind = std::ranges::find_if(
      tokens_, [&](const Token& other) { return other.text.size() < token.text.size(); });
  tokens_.insert(behind, std::move(token));
}

std::optional<AddedTokens::Found> AddedTokens::find(std::string_view text) const {
  for (std::size_t at = 0; at < text.size() && !tokens_.empty(); ++at) {
    if (!begins_[static_cast<unsigned char>(text[at])])
      continue;
    const auto rest = text.substr(at);
    const auto found = std::ranges::find_if(
        tokens_, [&](const Token& token) { return rest.starts_with(token.text); });
    if (found != tokens_.end())
      return Found{at, found->text.size(), found->id};
  }
  return std::nullopt;
}

} // namespace troupe::data
