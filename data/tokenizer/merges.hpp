/// Byte pair encoding (Sennrich et al. 2016, as GPT-2 has it): of all neighbours in a word, those
/// whose merge has the lowest rank become one token, the leftmost first, until none is left that
/// may.
#pragma once

#include "data/tokenizer/vocabulary.hpp"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace troupe::data {

struct Merge {
  TokenId left = 0, right = 0;
  std::int32_t rank = 0;
  TokenId id = 0; ///< what they become
};

/// By their two tokens.
class Merges {
public:
  /// The last one of two tokens counts, as with Hugging Face.
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

/// Merges words, in memory that it keeps for the next one. Time: n log n of a word's bytes.
class WordMerger {
public:
  /// `word`: the tokens of its bytes, and then what they have become.
  void merge(const Merges& merges, std::vector<TokenId>& word);

private:
  /// A token and its neighbours; what was merged away has the id -1.
  struct Node {
    TokenId id = 0;
    std::uint32_t previous = 0, next = 0;
  };
  struct Candidate {
    const Merge* merge = nullptr;
    std::uint32_t at = 0; ///< node of the left one
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
