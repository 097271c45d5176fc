#include "nn/passes/recompute.hpp"

#include "core/fail.hpp"
#include "nn/cost.hpp"
#include "nn/modules.hpp"

#include <algorithm>
#include <optional>

namespace troupe::nn {

namespace {

bool is_named(const RecomputeConfig& config, const std::string& unit) {
  return config.kind == RecomputeConfig::Kind::block ||
         std::ranges::any_of(config.names,
                             [&](const std::string& name) { return is_within(unit, name); });
}

double mib(std::size_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

class Chooser {
public:
  /// Precondition: plan_memory accepts the graph with these options.
  Chooser(const Graph& training, const PlanOptions& memory)
      : training_{training}, memory_{memory}, recomputation_{training},
        nothing_(training.tensors.size()), useless_(training.tensors.size()) {
    for (const auto& node : training.nodes)
      times_.push_back(cost_of(training, node).time());
  }

  TensorSet all_of(const RecomputeConfig& config) {
    auto again = nothing_;
    for (const auto id : recomputation_.candidates()) {
      const auto unit = training_.nodes[recomputation_.maker(id)].unit;
      again[static_cast<std::size_t>(id)] =
          is_named(config, training_.units[static_cast<std::size_t>(unit)]);
    }
    // The last bytes saved cost the most time, so a sixteenth of the saving is given back.
    const auto least = arena(again), most = std::max(arena(nothing_), least);
    return keep_what_fits(again, least + (most - least) / 16);
  }

  Result<TensorSet> fitting(std::size_t size) {
    auto again = nothing_;
    look_at(again);
    // Gaps between tensors make the arena slightly larger than the live bytes.
    for (std::size_t live_size = size;;) {
      bool smaller = true;
      while (smaller && most_live() > live_size)
        smaller = make_one_again(again);
      const auto reached = arena(again);
      if (reached <= size)
        return keep_what_fits(again, size);
      if (!smaller)
        return last_resort(again, size);
      const auto excess = std::max<std::size_t>(reached - size, 1);
      live_size = most_live() > excess ? most_live() - excess : 0;
    }
  }

private:
  void look_at(const TensorSet& again) {
    graph_ = &recomputation_.with(again);
    live_ = *live_bytes(*graph_, memory_);
  }
  std::size_t most_live() const { return std::ranges::max(live_); }
  std::size_t arena(const TensorSet& again) {
    return plan_memory(recomputation_.with(again), memory_)->arena_bytes;
  }

  /// Returns the candidates that are live but unused while node `at` of the last graph runs:
  /// between their last use in forward and their first use in backward.
  std::vector<TensorId> waiting_at(std::size_t at) const {
    std::vector<std::size_t> left(graph_->tensors.size()), wanted(graph_->tensors.size());
    for (std::size_t i = 0; i < graph_->nodes.size(); ++i) {
      const auto& node = graph_->nodes[i];
      for (const auto* ids : {&node.inputs, &node.outputs})
        for (const auto id : *ids)
          if (node.phase == Phase::forward)
            left[static_cast<std::size_t>(id)] = i; // last use so far
          else if (auto& first = wanted[static_cast<std::size_t>(id)]; first == 0)
            first = i;
    }
    std::vector<TensorId> found;
    for (const auto id : recomputation_.candidates())
      if (const auto i = static_cast<std::size_t>(id); left[i] < at && at < wanted[i])
        found.push_back(id);
    return found;
  }

  double time_for(TensorId candidate) const {
    double time = 1; // every clone costs some time
    for (const auto node : recomputation_.clones_for(candidate))
      time += times_[node];
    return time;
  }

  /// Adds the best candidate to `again`; returns false if there is none.
  bool make_one_again(TensorSet& again) {
    const auto before = most_live();
    const auto at = static_cast<std::size_t>(std::ranges::max_element(live_) - live_.begin());
    std::optional<std::size_t> best;
    double best_value = 0;
    for (const auto id : waiting_at(at)) {
      const auto i = static_cast<std::size_t>(id);
      const double value = static_cast<double>(bytes_of(training_[id])) / time_for(id);
      if (!again[i] && !useless_[i] && value > best_value) {
        best = i;
        best_value = value;
      }
    }
    if (!best)
      return false;
    again[*best] = true;
    look_at(again);
    if (most_live() > before) { // more is live at its clone than at the original
      again[*best] = false;
      useless_[*best] = true;
      look_at(again);
    }
    return true;
  }

  /// Removes candidates from `again` while the arena fits. Precondition: the arena of `again` fits
  /// into `size`. The result's arena fits, too.
  TensorSet keep_what_fits(const TensorSet& again, std::size_t size) {
    std::vector<TensorId> order;
    for (const auto id : recomputation_.candidates())
      if (again[static_cast<std::size_t>(id)])
        order.push_back(id);
    std::ranges::stable_sort(order, std::greater{}, [this](TensorId id) {
      return times_[recomputation_.maker(id)] / static_cast<double>(bytes_of(training_[id]));
    });
    constexpr int attempts = 4; // the final choice determines the gaps between tensors
    std::size_t live_size = size;
    for (int i = 0; i < attempts; ++i) {
      auto fewer = again;
      for (const auto id : order) {
        fewer[static_cast<std::size_t>(id)] = false;
        look_at(fewer);
        if (most_live() > live_size)
          fewer[static_cast<std::size_t>(id)] = true;
      }
      const auto reached = arena(fewer);
      if (reached <= size)
        return fewer;
      live_size -= std::min(live_size, reached - size);
    }
    return again;
  }

  /// Handles the case that no further candidate lowers the peak of `again`. Starts from `again`,
  /// then from all candidates, and removes candidates while the arena fits, because keeping some
  /// can make the arena even smaller.
  Result<TensorSet> last_resort(const TensorSet& again, std::size_t size) {
    auto all = nothing_;
    for (const auto id : recomputation_.candidates())
      all[static_cast<std::size_t>(id)] = true;
    auto least = static_cast<std::size_t>(-1);
    for (const auto& start : {again, all}) {
      const auto fewer = keep_what_fits(start, arena(start));
      const auto reached = arena(fewer);
      if (reached <= size)
        return keep_what_fits(fewer, size);
      least = std::min(least, reached);
    }
    return fail(Errc::invalid_input,
                "train.recompute: activations do not fit into {} bytes ({:.1f} MiB); this model "
                "and batch need at least {} bytes ({:.1f} MiB)",
                size, mib(size), least, mib(least));
  }

  const Graph& training_;
  const PlanOptions& memory_;
  Recomputation recomputation_;
  TensorSet nothing_;
  std::vector<bool> useless_; ///< by TensorId: tried and undone
  std::vector<double> times_; ///< by index of node
  const Graph* graph_ = nullptr;
  std::vector<std::size_t> live_; ///< live bytes of *graph_
};

} // namespace

Result<TensorSet> choose_recompute(const Graph& training, const RecomputeConfig& config,
                                   const PlanOptions& memory) {
  TROUPE_TRY(const auto plain, plan_memory(training, memory));
  const bool fits =
      config.kind == RecomputeConfig::Kind::fit && plain.arena_bytes <= config.fit_bytes;
  if (config.kind == RecomputeConfig::Kind::none || fits)
    return TensorSet(training.tensors.size());
  Chooser chooser{training, memory};
  return config.kind == RecomputeConfig::Kind::fit ? chooser.fitting(config.fit_bytes)
                                                   : chooser.all_of(config);
}

} // namespace troupe::nn
