/// Byte pair encoding (Sennrich et al. 2016, in GPT-2's variant): of all neighbouring pairs in a
/// word, the one whose merge has the lowest rank becomes one token, the leftmost first, until no
/// pair has a merge.
#pragma once

#include "data/tokenizer/vocabulary.hpp"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace troupe::data {

struct Merge {
  TokenId left = 0, right = 0;
  std::int32_t rank = 0;
  TokenId id = 0; ///< token that the pair becomes
};

/// Merges by their two tokens.
class Merges {
public:
  /// A later merge of the same two tokens replaces an earlier one, as in Hugging Face.
  void add(const Merge& merge);
  const Merge* find(TokenId left, TokenId right) const;
  bool empty() const { return merges_.empty(); }
  std::vector<Merge> in_order() const; ///< by rank, then by their tokens

private:
  struct Mixed {
    std::size_t operator()(std::uint64_t pair) const {
      return (pair ^ (pair >> 29)) * 0x9E3779B97F4A7C15U >> 7;
    }
  };
  std::unordered_map<std::uint64_t, Merge, Mixed> merges_;
};

/// Merges the bytes of words. Reuses its memory for the next word. Time: n log n for n bytes.
class WordMerger {
public:
  /// `word` contains the tokens of its bytes, and receives the merged tokens.
  void merge(const Merges& merges, std::vector<TokenId>& word);

private:
  /// A token and its neighbours; a token that was merged away has id -1.
  struct Node {
    TokenId id = 0;
    std::uint32_t previous = 0, next = 0;
  };
  struct Candidate {
    const Merge* merge = nullptr;
    std::uint32_t at = 0; ///< node of the left token
    bool operator<(const Candidate& other) const;
  };

  void link(const std::vector<TokenId>& word);
  void consider(const Merges& merges, std::uint32_t at);
  bool still_there(const Candidate& candidate) const;
  void apply(const Merges& merges, const Candidate& candidate);

  std::vector<Node> nodes_;
  std::vector<Candidate> heap_;
};

} // namespace troupe::data
