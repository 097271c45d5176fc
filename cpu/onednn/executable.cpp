// A graph lowered to oneDNN's primitives and our kernels.
#include "core/device/lowered_executable.hpp"
#include "core/fail.hpp"
#include "cpu/engines.hpp"
#include "cpu/flush_denormals.hpp"
#include "cpu/onednn/detail/convert.hpp"
#include "cpu/onednn/detail/slice_fusion.hpp"
#include "cpu/onednn/lowering.hpp"
#include "cpu/parallel.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace troupe::cpu {

namespace {

/// Refuses nodes that passes for other devices have fused.
Status check_supported(const Graph& graph) {
  for (const auto& node : graph.nodes) {
    const auto* const c = std::get_if<Conv2dAttributes>(&node.attributes);
    const auto* const pool = std::get_if<PoolAttributes>(&node.attributes);
    if ((c && (c->prologue || c->statistics || c->batch_norm_relu || c->padded_channels > 0)) ||
        (pool && pool->prologue))
      return failure(unsupported(graph, node));
  }
  return {};
}

class OnednnExecutable final : public LoweredExecutable {
public:
  OnednnExecutable(HostDevice& device, const Graph& graph, const MemoryPlan& plan)
      : LoweredExecutable{device, graph, plan}, units_(graph.units.size()) {}

  Status compile(HostDevice& device, const CompileOptions& options, Bf16Mode bf16) {
    TROUPE_TRY(check_supported(graph_));
    TROUPE_TRY(ports_, GraphPorts::create(graph_));
    const ThreadScope scope{options.threads};
    TROUPE_TRY(auto lowering, Lowering::make(device, graph_, options, bf16));
    TROUPE_TRY(lower_nodes(*lowering));
    TROUPE_TRY(allocate(*lowering));
    layout_ = std::move(lowering->layout);
    places_ = std::move(lowering->places);
    copies_ = std::move(lowering->copies);
    return {};
  }

  void refresh(Stream& stream, UnitId unit) override {
    const auto& copies = units_[static_cast<std::size_t>(unit)].copies;
    if (copies.empty())
      return;
    host_stream(stream).enqueue_for_library([this, &copies, bound = binding(unit)]() -> Status {
      const Frame frame{places_, bound, memory_};
      for (const auto* copy : copies)
        copy->refresh(frame);
      return {};
    });
  }

  void forward(Stream& stream, UnitId unit) override {
    enqueue(stream, unit, units_[static_cast<std::size_t>(unit)].forward);
  }

  void backward(Stream& stream, UnitId unit) override {
    enqueue(stream, unit, units_[static_cast<std::size_t>(unit)].backward);
  }

  Status read_tensor(Stream& stream, std::string_view name, std::span<float> host) override {
    TROUPE_TRY(const auto id, readable_tensor(graph_, plan_, name, host.size()));
    host_stream(stream).enqueue([this, id, host]() -> Status {
      const Frame frame{places_, {}, memory_};
      if (graph_[id].dtype == DType::i32)
        std::copy_n(frame.data<std::int32_t>(id), host.size(), host.data());
      else
        widen(graph_[id].dtype, frame.data<std::byte>(id), host.data(), host.size());
      return {};
    });
    return {};
  }

  Result<PassTimes> time_steps(Stream& stream) override {
    timed_ = true;
    run(stream);
    const auto done = stream.synchronize();
    timed_ = false;
    PassTimes times{&graph_, std::exchange(times_, {})};
    return done ? Result<PassTimes>{std::move(times)} : failure(done.error());
  }

private:
  /// Steps and copies of one unit.
  struct Unit {
    std::vector<StepPtr> forward, backward;
    std::vector<const ParameterCopy*> copies;
  };

  Status lower_nodes(Lowering& lowering) {
    std::vector<Step*> steps;
    steps.reserve(graph_.nodes.size());
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const auto& node = graph_.nodes[i];
      TROUPE_TRY(auto step, lower(lowering, node));
      step->node_index = i;
      if (only_renames(node, lowering.places))
        step->tensors.emplace();
      steps.push_back(step.get());
      auto& unit = units_[static_cast<std::size_t>(node.unit)];
      (node.phase == Phase::forward ? unit.forward : unit.backward).push_back(std::move(step));
    }
    fuse_slices(graph_, lowering.places, steps);
    for (const auto& copy : lowering.copies)
      units_[static_cast<std::size_t>(graph_[copy->parameter()].unit)].copies.push_back(copy.get());
    return {};
  }

  Status allocate(const Lowering& lowering) {
    std::size_t scratch = 0;
    for (const auto& unit : units_)
      for (const auto* steps : {&unit.forward, &unit.backward})
        for (const auto& step : *steps)
          scratch = std::max(scratch, step->scratch_bytes());
    TROUPE_TRY(arena_, device_.allocate(plan_.arena_bytes, MemoryKind::activations));
    TROUPE_TRY(own_, device_.allocate(lowering.own_bytes, MemoryKind::activations));
    TROUPE_TRY(scratch_, device_.allocate(scratch, MemoryKind::workspace));
    memory_ = {arena_->data(), own_->data(), scratch_->data()};
    return {};
  }

  void enqueue(Stream& stream, UnitId unit, std::span<const StepPtr> steps) {
    std::size_t begin = 0;
    for (std::size_t i = 0; sum_over_ranks_ && i < steps.size(); ++i)
      if (const auto sums = steps[i]->rank_sums(); !sums.empty()) {
        enqueue_alone(stream, unit, steps.subspan(begin, i - begin), steps[i].get());
        sum_over_ranks_(stream, sums.data(), sums.size());
        begin = i;
      }
    enqueue_alone(stream, unit, steps.subspan(begin), nullptr);
  }

  /// Enqueues steps without other ranks, then the reduction of `reduced` if it is not null.
  void enqueue_alone(Stream& stream, UnitId unit, std::span<const StepPtr> steps, Step* reduced) {
    for (auto rest = steps; !rest.empty();) {
      const bool by_library = rest.front()->by_library_threads();
      const auto end = std::ranges::find_if(
          rest, [&](const StepPtr& step) { return step->by_library_threads() != by_library; });
      const auto run = rest.first(static_cast<std::size_t>(end - rest.begin()));
      rest = rest.subspan(run.size());
      enqueue_run(stream, unit, run, by_library);
    }
    if (reduced)
      host_stream(stream).enqueue([this, reduced, bound = binding(unit)]() -> Status {
        const FlushDenormals flush{FlushedThreads::own};
        reduced->reduce({places_, bound, memory_});
        return {};
      });
  }

  /// Enqueues steps that either all run on the library's threads or all do not.
  void enqueue_run(Stream& stream, UnitId unit, std::span<const StepPtr> steps, bool by_library) {
    const auto threads = by_library ? FlushedThreads::library : FlushedThreads::own;
    const auto task = [this, steps, threads, bound = binding(unit)]() -> Status {
      const FlushDenormals flush{threads};
      const Frame frame{places_, bound, memory_};
      for (const auto& step : steps)
        TROUPE_TRY(timed_ ? run_timed(*step, frame) : step->run(frame));
      return {};
    };
    host_stream(stream).enqueue(task, by_library);
  }

  Status run_timed(Step& step, const Frame& frame) {
    const auto start = std::chrono::steady_clock::now();
    auto status = step.run(frame);
    times_.push_back({.name = step.name,
                      .node = step.node_index,
                      .tensors = step.tensors,
                      .time = std::chrono::steady_clock::now() - start});
    return status;
  }

  std::vector<Unit> units_;
  std::vector<std::unique_ptr<ParameterCopy>> copies_;
  BufferPtr arena_, own_, scratch_;
  bool timed_ = false; ///< steps record their times; changes only while nothing is enqueued
  std::vector<StepTime> times_; ///< of steps since then
};

} // namespace

Result<std::unique_ptr<Executable>> compile_onednn(HostDevice& device, const Graph& graph,
                                                   const CompileOptions& options, Bf16Mode bf16) {
  auto made = std::make_unique<OnednnExecutable>(device, graph, options.memory);
  TROUPE_TRY(made->compile(device, options, bf16));
  return made;
}

} // namespace troupe::cpu
