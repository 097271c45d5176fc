// Runs a graph node by node on the scalar ops: the reference for other engines.
#include "core/device/executable.hpp"
#include "core/device/graph_ports.hpp"
#include "core/device/placement.hpp"
#include "core/device/storage_layout.hpp"
#include "core/fail.hpp"
#include "cpu/engines.hpp"
#include "cpu/host_device.hpp"
#include "cpu/interpreter/ops.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace troupe::cpu {

namespace {

constexpr std::size_t activation_alignment = 64; ///< bytes

/// Returns the slots of parameters with a codec, by the TensorIds of parameters and gradients.
std::vector<const Slot*> find_encoded(const StorageLayout& layout, const Graph& graph) {
  std::vector<const Slot*> encoded(graph.tensors.size());
  for (const auto& slot : layout.parameters)
    if (const auto id = slot.codec ? graph.find(slot.name) : std::nullopt)
      encoded[static_cast<std::size_t>(*id)] = &slot;
  for (const auto id : graph.with_role(Role::gradient))
    encoded[static_cast<std::size_t>(id)] = encoded[static_cast<std::size_t>(graph[id].of)];
  return encoded;
}

/// Returns sums by node, which only synchronized batch norms have.
std::vector<std::optional<RankSums>> make_rank_sums(const Graph& graph) {
  std::vector<std::optional<RankSums>> sums(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (const auto& node = graph.nodes[i]; is_synchronized(node))
      sums[i].emplace(static_cast<std::size_t>(graph[node.inputs[0]].shape.dims.back()));
  return sums;
}

/// Without a memory plan, no two activations share memory. With one, activations lie where the plan
/// puts them, which checks the plan. Takes any StorageLayout, codecs included.
class InterpreterExecutable final : public Executable {
public:
  /// Precondition: the graph is valid.
  InterpreterExecutable(const Graph& graph, const CompileOptions& options)
      : graph_{graph}, plan_{options.memory}, layout_{options.layout ? *options.layout
                                                                     : lay_out_storage(graph, 1)},
        encoded_{find_encoded(layout_, graph_)},
        units_(graph.units.size()), rank_sums_{make_rank_sums(graph)},
        addresses_(graph.tensors.size()) {}

  /// Errors: out_of_memory; a layout or plan of another graph.
  Status allocate(HostDevice& device) {
    TROUPE_TRY(ports_, GraphPorts::create(graph_));
    TROUPE_TRY(auto placement, place_tensors(graph_, plan_, layout_, activation_alignment));
    places_ = std::move(placement.places);
    TROUPE_TRY(arena_, device.allocate(plan_.arena_bytes, MemoryKind::activations));
    TROUPE_TRY(own_, device.allocate(placement.own_bytes, MemoryKind::activations));
    memory_ = {.arena = arena_->data(), .own = own_->data()};
    return {};
  }

  const StorageLayout& layout() const override { return layout_; }
  void bind(UnitId unit, float* parameters, float* gradients) override {
    units_[static_cast<std::size_t>(unit)] = {parameters, gradients};
  }
  void bind_statistics(float* statistics) override { statistics_ = statistics; }
  void bind_loss_scale(const float* scale) override { loss_scale_ = scale; }
  void bind_sum_over_ranks(SumOverRanks sum) override { sum_over_ranks_ = std::move(sum); }
  /// Nothing is derived from parameters: they are decoded on each read.
  void refresh(Stream&, UnitId) override {}
  const BatchView& batch() const override { return ports_.batch(); }
  Status set_batch(const BatchView& batch) override { return ports_.bind(batch); }
  void forward(Stream& stream, UnitId unit) override { enqueue(stream, unit, Phase::forward); }
  void backward(Stream& stream, UnitId unit) override { enqueue(stream, unit, Phase::backward); }

  void read_outputs(Stream& stream, StepOutputs* host) override {
    host->names = ports_.output_names();
    host_stream(stream).enqueue([this, host]() -> Status {
      for (std::size_t i = 0; i < ports_.outputs().size(); ++i)
        host->values[i] = static_cast<float>(values_of(ports_.outputs()[i])[0]);
      return {};
    });
  }

  Status read_tensor(Stream& stream, std::string_view name, std::span<float> host) override {
    TROUPE_TRY(const auto id, readable_tensor(graph_, plan_, name, host.size()));
    host_stream(stream).enqueue([this, id, host]() -> Status {
      std::ranges::transform(values_of(id), host.begin(),
                             [](double v) { return static_cast<float>(v); });
      return {};
    });
    return {};
  }

private:
  struct UnitBuffers {
    float* parameters = nullptr;
    float* gradients = nullptr;
  };

  void enqueue(Stream& stream, UnitId unit, Phase phase) {
    const auto& bound = units_[static_cast<std::size_t>(unit)];
    const Binding binding{bound.parameters, bound.gradients, statistics_, loss_scale_,
                          ports_.addresses()};
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const auto& node = graph_.nodes[i];
      if (node.unit != unit || node.phase != phase)
        continue;
      const auto* const sums = enqueue_sums(stream, i, binding);
      host_stream(stream).enqueue(
          [this, &node, binding, sums] { return run_bound(node, binding, {.taken = sums}); });
    }
  }

  /// Returns the node's sums over all ranks, valid once the enqueued work is done; null if the node
  /// uses its own sums.
  RankSums* enqueue_sums(Stream& stream, std::size_t node, const Binding& binding) {
    auto& sums = rank_sums_[node];
    if (!sums || !sum_over_ranks_)
      return nullptr;
    host_stream(stream).enqueue([this, &node = graph_.nodes[node], binding, &sums = *sums] {
      return run_bound(node, binding, {.given = &sums});
    });
    sum_over_ranks_(stream, sums->values().data(), sums->values().size());
    return &*sums;
  }

  /// Runs a node, with its parameters decoded.
  Status run_bound(const Node& node, const Binding& binding, const RankSumsOfNode& sums) {
    const Frame frame{places_, binding, memory_};
    const auto stored = [&](TensorId id) {
      return std::span{frame.data<float>(id), encoded_[static_cast<std::size_t>(id)]->elements};
    };
    std::vector<std::pair<TensorId, std::vector<float>>> decoded; // stays alive while the node runs
    for (const auto* ids : {&node.inputs, &node.outputs})
      for (const auto id : *ids) {
        const auto i = static_cast<std::size_t>(id);
        addresses_[i] = frame.data<std::byte>(id);
        if (!encoded_[i])
          continue;
        std::vector<float> values(static_cast<std::size_t>(graph_[id].shape.elements()));
        if (graph_[id].role == Role::parameter)
          encoded_[i]->codec->decode(stored(id), values);
        addresses_[i] = values.data();
        decoded.emplace_back(id, std::move(values));
      }
    TROUPE_TRY(run_node(graph_, node, addresses_, sums));
    for (const auto& [id, values] : decoded)
      if (graph_[id].role == Role::gradient)
        encoded_[static_cast<std::size_t>(id)]->codec->encode(values, stored(id));
    return {};
  }

  /// Returns the values of an activation or output.
  Values values_of(TensorId id) const {
    const Binding unbound;
    return load(graph_[id], Frame{places_, unbound, memory_}.data<std::byte>(id));
  }

  Graph graph_;
  GraphPorts ports_;
  MemoryPlan plan_;
  StorageLayout layout_;
  std::vector<Place> places_;
  std::vector<const Slot*> encoded_; ///< by TensorId, for parameters with a codec, and gradients
  std::vector<UnitBuffers> units_;
  float* statistics_ = nullptr;
  const float* loss_scale_ = nullptr;
  SumOverRanks sum_over_ranks_;
  std::vector<std::optional<RankSums>> rank_sums_; ///< by node, for synchronized batch norms
  BufferPtr arena_, own_;
  ExecutableMemory memory_;
  std::vector<void*> addresses_; ///< by TensorId, of the running node's tensors
};

} // namespace

Result<std::unique_ptr<Executable>> compile_interpreter(HostDevice& device, const Graph& graph,
                                                        const CompileOptions& options) {
  auto made = std::make_unique<InterpreterExecutable>(graph, options);
  TROUPE_TRY(made->allocate(device));
  return made;
}

} // namespace troupe::cpu
