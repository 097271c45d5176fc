#include "training/pretrained/weights_match.hpp"

#include "core/checkpoint/widened.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "core/suggestion.hpp"
#include "nn/initialize.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace troupe::training {

namespace {

constexpr std::size_t most_listed = 10;
/// Limits for suggestions: comparing more or longer names would take too long.
constexpr std::size_t most_compared = 4096, longest_compared = 100;

using Entries = std::span<const SafetensorsEntry>;

/// Whether a tensor is not part of a model: batch counters of PyTorch's batch norm, and optimizer
/// state of checkpoints.
bool is_leftover(std::string_view name) {
  return name == "num_batches_tracked" || name.ends_with(".num_batches_tracked") ||
         name.starts_with("optimizer.");
}

using Names = std::unordered_set<std::string_view>;

/// Counts the prefix before each suffix of `name` that is one of the model's names. Only suffixes
/// up to the longest of those are searched, so long names cost no more time.
void count_prefixes(std::string_view name, const Names& model, std::size_t longest,
                    std::map<std::string_view, std::size_t>& counts) {
  for (std::size_t at = name.size() - std::min(name.size(), longest); at < name.size(); ++at)
    if ((at == 0 || name[at - 1] == '.') && model.contains(name.substr(at)))
      ++counts[name.substr(0, at)];
}

/// Finds a prefix that a wrapper adds to all names of a model: "module." (DataParallel), "model.",
/// "_orig_mod.". Returns the most frequent prefix of names that end with one of the model's names;
/// among equally frequent ones, the shortest. Empty if no name does, or most have no prefix. Takes
/// time proportional to the names' length.
std::string names_prefix(std::span<const std::string_view> names, const Names& model) {
  std::size_t longest = 0;
  for (const auto name : model)
    longest = std::max(longest, name.size());
  std::map<std::string_view, std::size_t> counts;
  for (const auto name : names)
    count_prefixes(name, model, longest, counts);
  std::string_view most;
  std::size_t times = counts[most];
  for (const auto& [prefix, count] : counts)
    if (count > times || (count == times && prefix.size() < most.size())) {
      most = prefix;
      times = count;
    }
  return std::string{most};
}

std::string did_you_mean(const std::string& name, const std::vector<std::string>& known) {
  if (name.size() > longest_compared || known.size() > most_compared)
    return {};
  const auto near = suggest(name, known);
  return near.empty() ? std::string{} : fmt::format("; did you mean \"{}\"?", echoed(near));
}

class Matcher {
public:
  Matcher(const Graph& graph, const std::string& model, Entries entries, MayDiffer may_differ);
  Result<WeightsMatch> run() &&;

private:
  struct Mismatch {
    std::string what;
    std::string name;                      ///< to find a similar name for
    const std::vector<std::string>* known; ///< names to search for a similar one; null: none
  };

  void find_units();
  void match(TensorId id);
  void match_absent(const Tensor& tensor, TensorId id);
  void match_other(const Tensor& tensor, TensorId id, const SafetensorsEntry& entry);
  void find_extras();
  void check_most_is_taken();
  bool may_begin_anew(const Tensor& tensor) const {
    return may_differ_ == MayDiffer::stem_and_head &&
           (tensor.unit == stem_ || tensor.unit == head_);
  }
  void begin_anew(TensorId id, std::string why) {
    match_.sources.push_back({id, nullptr, std::move(why)});
  }
  /// Keeps only the first few: a file may have as many tensors as fit into its header.
  void refuse(std::string what, std::string name = {},
              const std::vector<std::string>* known = nullptr) {
    if (mismatch_count_++ < most_listed)
      mismatches_.push_back({std::move(what), std::move(name), known});
  }
  tl::unexpected<Error> refusal() const;

  const Graph& graph_;
  const std::string& model_;
  Entries entries_;
  MayDiffer may_differ_;
  WeightsMatch match_;
  std::unordered_map<std::string_view, const SafetensorsEntry*> by_name_; ///< without the prefix
  Names known_;                                                           ///< names of the model
  std::vector<std::string> names_, extras_; ///< names of the model; names only in the file
  UnitId stem_ = -1, head_ = -1;
  bool has_head_ = false;            ///< the file has at least a part of the head
  std::vector<Mismatch> mismatches_; ///< only the first
  std::size_t mismatch_count_ = 0;
};

Matcher::Matcher(const Graph& graph, const std::string& model, Entries entries,
                 MayDiffer may_differ)
    : graph_{graph}, model_{model}, entries_{entries}, may_differ_{may_differ} {
  for (const auto id : nn::initialized_tensors(graph)) {
    known_.insert(graph[id].name);
    names_.push_back(graph[id].name);
  }
  std::vector<std::string_view> names;
  for (const auto& entry : entries)
    if (!is_leftover(entry.name))
      names.push_back(entry.name);
  match_.prefix = names_prefix(names, known_);
  for (const auto& entry : entries)
    if (entry.name.starts_with(match_.prefix))
      if (const auto name = std::string_view{entry.name}.substr(match_.prefix.size());
          known_.contains(name))
        by_name_.emplace(name, &entry);
}

/// A single unit is both stem and head.
void Matcher::find_units() {
  const auto parameters = graph_.with_role(Role::parameter);
  if (parameters.empty())
    return;
  stem_ = graph_[parameters.front()].unit;
  head_ = graph_[parameters.back()].unit;
  has_head_ = std::ranges::any_of(parameters, [&](TensorId id) {
    return graph_[id].unit == head_ && by_name_.contains(graph_[id].name);
  });
}

void Matcher::match(TensorId id) {
  const auto& tensor = graph_[id];
  const auto found = by_name_.find(tensor.name);
  if (found == by_name_.end())
    return match_absent(tensor, id);
  const auto& entry = *found->second;
  if (entry.shape != tensor.shape)
    return match_other(tensor, id, entry);
  if (!is_widened(entry.dtype))
    refuse(fmt::format("{}: {} in the file, expected F32, F16, BF16 or F64", tensor.name,
                       entry.dtype));
  match_.sources.push_back({id, &entry, {}});
}

void Matcher::match_absent(const Tensor& tensor, TensorId id) {
  if (may_begin_anew(tensor) && tensor.unit == head_ && !has_head_)
    return begin_anew(id, "not in the file");
  refuse(fmt::format("{}: not in the file, expected {}", tensor.name, tensor.shape.to_string()),
         tensor.name, &extras_);
}

void Matcher::match_other(const Tensor& tensor, TensorId id, const SafetensorsEntry& entry) {
  const auto there = echoed(entry.shape.to_string()), here = tensor.shape.to_string();
  if (may_begin_anew(tensor))
    return begin_anew(id, fmt::format("{} in the file, {} here", there, here));
  refuse(fmt::format("{}: {} in the file, expected {}", tensor.name, there, here));
}

void Matcher::find_extras() {
  for (const auto& entry : entries_) {
    const bool has_prefix = entry.name.starts_with(match_.prefix);
    const auto name = std::string_view{entry.name}.substr(has_prefix ? match_.prefix.size() : 0);
    if (is_leftover(name) || is_leftover(entry.name) || (has_prefix && known_.contains(name)))
      continue;
    if (extras_.size() <= most_compared) // more are not compared
      extras_.emplace_back(name);
    refuse(fmt::format("{}: {} in the file, not in {}", echoed(entry.name),
                       echoed(entry.shape.to_string()), model_),
           std::string{name}, &names_);
  }
}

/// Refuses a file from which less than half of the model is taken: another model's file may fit by
/// chance.
void Matcher::check_most_is_taken() {
  std::int64_t all = 0, taken = 0;
  for (const auto& source : match_.sources) {
    const auto elements = graph_[source.tensor].shape.elements();
    all += elements;
    taken += source.entry ? elements : 0;
  }
  if (2 * taken >= all)
    return;
  for (const auto& source : match_.sources)
    if (!source.entry)
      refuse(fmt::format("{}: {}", graph_[source.tensor].name, source.why));
}

tl::unexpected<Error> Matcher::refusal() const {
  const auto count = mismatch_count_;
  auto text = fmt::format("{} tensor{} not fit {}{}", count, count == 1 ? " does" : "s do", model_,
                          count > most_listed ? fmt::format("; the first {}", most_listed) : "");
  for (const auto& [what, name, known] : mismatches_)
    text += fmt::format("\n  {}{}", what, known ? did_you_mean(name, *known) : "");
  return fail(Errc::invalid_input, "{}", text);
}

Result<WeightsMatch> Matcher::run() && {
  find_units();
  for (const auto id : nn::initialized_tensors(graph_))
    match(id);
  find_extras();
  if (mismatches_.empty())
    check_most_is_taken();
  if (!mismatches_.empty())
    return refusal();
  return std::move(match_);
}

} // namespace

Result<WeightsMatch> match_weights(const Graph& graph, const std::string& model,
                                   std::span<const SafetensorsEntry> entries,
                                   MayDiffer may_differ) {
  return Matcher{graph, model, entries, may_differ}.run();
}

} // namespace troupe::training
