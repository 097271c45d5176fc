#include "actors/membership/blame.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <tuple>

namespace troupe::actors {

namespace {

using Indices = std::set<std::size_t>;

/// Branches on the node with the most remaining broken links: either it is left out, or it stays
/// and all nodes at the other ends are left out. So it visits all minimal covers except those that
/// cost more than the best one so far.
class CoverSearch {
public:
  CoverSearch(const std::vector<BlameCandidate>& nodes, const std::vector<BrokenLink>& links,
              const BlameCosts& costs)
      : nodes_{nodes}, costs_{costs}, linked_(nodes.size()) {
    for (const auto& link : links)
      add(index_of(link.from), index_of(link.to));
  }

  BlameCosts::Nodes run() {
    branch({});
    return addresses(best_.value_or(Indices{}));
  }

private:
  /// Never lower for a superset.
  using Cost = std::tuple<bool, bool, bool, std::size_t, std::int64_t, bool>;
  static constexpr int most_branches = 1 << 18;

  std::size_t index_of(const std::string& address) const {
    const auto node = std::ranges::find(nodes_, address, &BlameCandidate::address);
    return static_cast<std::size_t>(node - nodes_.begin());
  }

  void add(std::size_t from, std::size_t to) {
    if (from == to || from == nodes_.size() || to == nodes_.size())
      return;
    linked_[from].insert(to);
    linked_[to].insert(from);
  }

  Indices left(std::size_t node, const Indices& out) const {
    Indices ends;
    if (!out.contains(node))
      std::ranges::set_difference(linked_[node], out, std::inserter(ends, ends.end()));
    return ends;
  }

  void branch(const Indices& out) {
    const auto cost = cost_of(out);
    if (best_ && (cost > best_cost_ || ++branches_ > most_branches))
      return;
    std::size_t most = 0;
    Indices ends;
    for (std::size_t node = 0; node < nodes_.size(); ++node)
      if (auto its_ends = left(node, out); its_ends.size() > ends.size())
        most = node, ends = std::move(its_ends);
    if (ends.empty())
      return consider(out, cost);
    auto without = out;
    without.insert(most);
    branch(without);
    auto alone = out;
    alone.insert(ends.begin(), ends.end());
    branch(alone);
  }

  void consider(const Indices& out, const Cost& cost) {
    if (best_ && (cost > best_cost_ || (cost == best_cost_ && times(out) <= times(*best_))))
      return;
    best_ = out;
    best_cost_ = cost;
  }

  Cost cost_of(const Indices& out) const {
    const auto names = addresses(out);
    std::int64_t workers = 0;
    bool leads = false;
    for (const auto node : out) {
      workers += nodes_[node].workers;
      leads = leads || nodes_[node].leads;
    }
    return {leads && !costs_.leader_may_leave,
            costs_.loses_state(names),
            costs_.loses_quorum(names),
            out.size(),
            workers,
            leads};
  }

  /// Returns the join times of these nodes, latest first.
  std::vector<std::int64_t> times(const Indices& out) const {
    std::vector<std::int64_t> came;
    for (const auto node : out)
      came.push_back(nodes_[node].came);
    std::ranges::sort(came, std::greater<>{});
    return came;
  }

  BlameCosts::Nodes addresses(const Indices& out) const {
    BlameCosts::Nodes names;
    for (const auto node : out)
      names.insert(nodes_[node].address);
    return names;
  }

  const std::vector<BlameCandidate>& nodes_;
  const BlameCosts& costs_;
  std::vector<Indices> linked_; ///< by broken links
  std::optional<Indices> best_;
  Cost best_cost_ = {};
  int branches_ = 0;
};

/// "a", "a and b", "a, b and c". Precondition: there are names.
std::string join_names(const std::set<std::string>& names) {
  const auto last = std::prev(names.end());
  return names.size() == 1 ? *last
                           : fmt::format("{} and {}", fmt::join(names.begin(), last, ", "), *last);
}

/// The nodes at the other ends, and why the first of them could not be reached.
struct Ends {
  std::set<std::string> nodes;
  std::string why;

  void add(const std::string& node, const std::string& reason) {
    nodes.insert(node);
    if (why.empty())
      why = reason;
  }
};

} // namespace

std::set<std::string> choose_left_out(const std::vector<BlameCandidate>& nodes,
                                      const std::vector<BrokenLink>& links,
                                      const BlameCosts& costs) {
  return CoverSearch{nodes, links, costs}.run();
}

std::string describe_links(const std::string& node, const std::vector<BrokenLink>& links) {
  Ends from, to;
  for (const auto& link : links) {
    if (link.to == node)
      from.add(link.from, link.why);
    if (link.from == node)
      to.add(link.to, link.why);
  }
  std::string text;
  if (!from.nodes.empty())
    text = fmt::format("the data port of {} cannot be reached from {}: {}", node,
                       join_names(from.nodes), from.why);
  if (!to.nodes.empty())
    text += fmt::format("{}{} cannot reach the data port{} of {}: {}", text.empty() ? "" : "; ",
                        node, to.nodes.size() > 1 ? "s" : "", join_names(to.nodes), to.why);
  return text;
}

std::vector<std::string>
find_behind(const std::vector<std::pair<std::string, std::int64_t>>& reached) {
  std::vector<std::string> behind;
  if (reached.empty())
    return behind;
  const auto least =
      std::ranges::min(reached, {}, &std::pair<std::string, std::int64_t>::second).second;
  for (const auto& [node, step] : reached)
    if (step == least)
      behind.push_back(node);
  return 2 * behind.size() <= reached.size() ? behind : std::vector<std::string>{};
}

} // namespace troupe::actors
