#include "data/tokenizer/merges.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

namespace troupe::data {

namespace {

constexpr auto nowhere = std::numeric_limits<std::uint32_t>::max();

std::uint64_t pair_of(TokenId left, TokenId right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
         static_cast<std::uint32_t>(right);
}

} // namespace

void Merges::add(const Merge& merge) {
  merges_.insert_or_assign(pair_of(merge.left, merge.right), merge);
}

const Merge* Merges::find(TokenId left, TokenId right) const {
  const auto found = merges_.find(pair_of(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

std::vector<Merge> Merges::in_order() const {
  std::vector<Merge> all;
  all.reserve(merges_.size());
  for (const auto& [pair, merge] : merges_)
    all.push_back(merge);
  std::ranges::sort(all, {}, [](const Merge& merge) {
    return std::tuple{merge.rank, merge.left, merge.right};
  });
  return all;
}

/// Order of a heap that yields its greatest element first.
bool WordMerger::Candidate::operator<(const Candidate& other) const {
  return std::tuple{merge->rank, at} > std::tuple{other.merge->rank, other.at};
}

void WordMerger::link(const std::vector<TokenId>& word) {
  const auto count = static_cast<std::uint32_t>(word.size());
  nodes_.resize(word.size());
  for (std::uint32_t i = 0; i < count; ++i)
    nodes_[i] = {word[i], i == 0 ? nowhere : i - 1, i + 1 == count ? nowhere : i + 1};
}

void WordMerger::consider(const Merges& merges, std::uint32_t at) {
  if (at == nowhere || nodes_[at].next == nowhere)
    return;
  const auto* const merge = merges.find(nodes_[at].id, nodes_[nodes_[at].next].id);
  if (!merge)
    return;
  heap_.push_back({merge, at});
  std::push_heap(heap_.begin(), heap_.end());
}

bool WordMerger::still_there(const Candidate& candidate) const {
  const auto& left = nodes_[candidate.at];
  return left.id == candidate.merge->left && left.next != nowhere &&
         nodes_[left.next].id == candidate.merge->right;
}

void WordMerger::apply(const Merges& merges, const Candidate& candidate) {
  auto& left = nodes_[candidate.at];
  auto& right = nodes_[left.next];
  left.id = candidate.merge->id;
  right.id = -1;
  left.next = right.next;
  if (left.next != nowhere)
    nodes_[left.next].previous = candidate.at;
  consider(merges, left.previous);
  consider(merges, candidate.at);
}

void WordMerger::merge(const Merges& merges, std::vector<TokenId>& word) {
  link(word);
  heap_.clear();
  for (std::uint32_t i = 0; i < nodes_.size(); ++i)
    consider(merges, i);
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end());
    const auto best = heap_.back();
    heap_.pop_back();
    if (still_there(best))
      apply(merges, best);
  }
  word.clear();
  for (const auto& node : nodes_)
    if (node.id >= 0)
      word.push_back(node.id);
}

} // namespace troupe::data
