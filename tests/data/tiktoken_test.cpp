// Tests tiktoken's ranks: any two adjacent tokens whose concatenation is a token may be merged.
#include "tests/support/tokenizer_files.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>

using namespace troupe;
using namespace troupe::data;
using namespace troupe::testing;

namespace {

/// Encodes as tiktoken does (_byte_pair_merge), without its shortcuts.
std::vector<TokenId> merged(const std::map<std::string, TokenId>& ranks, const std::string& word) {
  std::vector<std::string> parts;
  for (const char byte : word)
    parts.emplace_back(1, byte);
  const auto rank_of = [&](std::size_t i) {
    const auto found = ranks.find(parts[i] + parts[i + 1]);
    return found == ranks.end() ? std::numeric_limits<TokenId>::max() : found->second;
  };
  while (parts.size() > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < parts.size(); ++i)
      if (rank_of(i) < rank_of(best))
        best = i;
    if (rank_of(best) == std::numeric_limits<TokenId>::max())
      break;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
  std::vector<TokenId> ids;
  std::ranges::transform(parts, std::back_inserter(ids),
                         [&](const auto& p) { return ranks.at(p); });
  return ids;
}

std::string random_word(std::mt19937& random, std::size_t most) {
  std::string word(1 + random() % most, 'a');
  for (auto& letter : word)
    letter = static_cast<char>('a' + random() % 3);
  return word;
}

} // namespace

TEST_CASE_METHOD(TokenizerFiles, "ranks in any order merge words as tiktoken does") {
  std::mt19937 random{5};
  for (int i = 0; i < 30; ++i) {
    std::set<std::string> drawn;
    while (drawn.size() < 60)
      if (auto token = random_word(random, 6); token.size() > 1)
        drawn.insert(std::move(token));
    std::vector<std::string> tokens(drawn.begin(), drawn.end());
    std::ranges::shuffle(tokens, random);
    std::map<std::string, TokenId> ranks;
    for (int byte = 0; byte < 256; ++byte)
      ranks[std::string(1, static_cast<char>(byte))] = byte;
    for (const auto& token : tokens)
      ranks.emplace(token, static_cast<TokenId>(ranks.size()));
    const auto tokenizer =
        open_tokenizer(write("mine.tiktoken", ranks_of(tokens)), TokenizerSplit::gpt2).value();
    for (int k = 0; k < 100; ++k) {
      const auto word = random_word(random, 40);
      INFO(word);
      const auto whole = ranks.find(word); // a whole token is not merged
      CHECK(encoded(tokenizer, word) ==
            (whole == ranks.end() ? merged(ranks, word) : std::vector{whole->second}));
    }
  }
}

TEST_CASE_METHOD(TokenizerFiles, "each token keeps at most one of its merges") {
  std::vector<std::string> runs; // every split gives two tokens
  for (std::size_t size = 2; size <= 100; ++size)
    for (std::size_t a = 0; a <= size; ++a)
      runs.push_back(std::string(a, 'a') + std::string(size - a, 'b'));
  const auto tokenizer =
      open_tokenizer(write("mine.tiktoken", ranks_of(runs)), TokenizerSplit::gpt2).value();
  CHECK(tokenizer->parts().merges.in_order().size() <= runs.size());
  const auto text = std::string(700, 'a') + std::string(50, 'b');
  CHECK(decoded(*tokenizer, encoded(tokenizer, text)) == text);
}
