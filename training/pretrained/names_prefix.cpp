#include "training/pretrained/names_prefix.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <unordered_set>

namespace troupe::training {

namespace {

using Names = std::unordered_set<std::string_view>;

/// Counts the prefix before each suffix of `name` that is one of the model's names. Only suffixes
/// up to the longest of those are searched, so long names cost no more time.
void count_prefixes(std::string_view name, const Names& model, std::size_t longest,
                    std::map<std::string_view, std::size_t>& counts) {
  for (std::size_t at = name.size() - std::min(name.size(), longest); at < name.size(); ++at)
    if ((at == 0 || name[at - 1] == '.') && model.contains(name.substr(at)))
      ++counts[name.substr(0, at)];
}

} // namespace

std::string names_prefix(std::span<const std::string_view> names,
                         std::span<const std::string_view> model) {
  const Names known(model.begin(), model.end());
  std::size_t longest = 0;
  for (const auto name : model)
    longest = std::max(longest, name.size());
  std::map<std::string_view, std::size_t> counts;
  for (const auto name : names)
    count_prefixes(name, known, longest, counts);
  std::string_view most;
  std::size_t times = counts[most];
  for (const auto& [prefix, count] : counts)
    if (count > times || (count == times && prefix.size() < most.size())) {
      most = prefix;
      times = count;
    }
  return std::string{most};
}

} // namespace troupe::training
