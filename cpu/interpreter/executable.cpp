// Runs a graph node by node on the scalar ops: the reference for other engines.
#include "core/device/lowered_executable.hpp"
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

Status check_dtypes(const Graph& graph, const Node& node) {
  for (const auto* ids : {&node.inputs, &node.outputs})
    for (const auto id : *ids)
      if (graph[id].dtype == DType::f64)
        return fail(Errc::unsupported, "the interpreter does not support {} ({})",
                    to_string(DType::f64), graph[id].name);
  return {};
}

/// Without a memory plan, no two activations share memory. With one, activations lie where the plan
/// puts them, which checks the plan. Takes any StorageLayout, codecs included.
class InterpreterExecutable final : public LoweredExecutable {
public:
  /// Precondition: the graph is valid.
  InterpreterExecutable(HostDevice& device, const Graph& graph, const CompileOptions& options)
      : LoweredExecutable{device, graph, options.memory}, rank_sums_{make_rank_sums(graph)},
        addresses_(graph.tensors.size()) {
    layout_ = options.layout ? *options.layout : lay_out_storage(graph, 1);
    encoded_ = find_encoded(layout_, graph_);
  }

  /// Errors: out_of_memory; a layout or plan of another graph.
  Status allocate() {
    TROUPE_TRY(ports_, GraphPorts::create(graph_));
    TROUPE_TRY(auto placement, place_tensors(graph_, plan_, layout_, activation_alignment));
    places_ = std::move(placement.places);
    TROUPE_TRY(arena_, device_.allocate(plan_.arena_bytes, MemoryKind::activations));
    TROUPE_TRY(own_, device_.allocate(placement.own_bytes, MemoryKind::activations));
    memory_ = {.arena = arena_->data(), .own = own_->data()};
    return {};
  }

  /// Nothing is derived from parameters: they are decoded on each read.
  void refresh(Stream&, UnitId) override {}
  void forward(Stream& stream, UnitId unit) override { enqueue(stream, unit, Phase::forward); }
  void backward(Stream& stream, UnitId unit) override { enqueue(stream, unit, Phase::backward); }

  Status read_tensor(Stream& stream, std::string_view name, std::span<float> host) override {
    TROUPE_TRY(const auto id, readable_tensor(graph_, plan_, name, host.size()));
    host_stream(stream).enqueue([this, id, host]() -> Status {
      const Binding nothing;
      const Frame frame{places_, nothing, memory_};
      std::ranges::transform(load(graph_[id], frame.data<std::byte>(id)), host.begin(),
                             [](double v) { return static_cast<float>(v); });
      return {};
    });
    return {};
  }

private:
  void enqueue(Stream& stream, UnitId unit, Phase phase) {
    const Binding bound = binding(unit);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const auto& node = graph_.nodes[i];
      if (node.unit != unit || node.phase != phase)
        continue;
      const auto* const sums = enqueue_sums(stream, i, bound);
      host_stream(stream).enqueue(
          [this, &node, bound, sums] { return run_bound(node, bound, {.taken = sums}); });
    }
  }

  /// Returns the node's sums over all ranks, valid once the enqueued work is done; null if the node
  /// uses its own sums.
  RankSums* enqueue_sums(Stream& stream, std::size_t node, const Binding& bound) {
    auto& sums = rank_sums_[node];
    if (!sums || !sum_over_ranks_)
      return nullptr;
    host_stream(stream).enqueue([this, &node = graph_.nodes[node], bound, &sums = *sums] {
      return run_bound(node, bound, {.given = &sums});
    });
    sum_over_ranks_(stream, sums->values().data(), sums->values().size());
    return &*sums;
  }

  /// Runs a node, with its parameters decoded.
  Status run_bound(const Node& node, const Binding& bound, const RankSumsOfNode& sums) {
    const Frame frame{places_, bound, memory_};
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
        std::vector<float> values(graph_[id].shape.count());
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

  std::vector<const Slot*> encoded_; ///< by TensorId, for parameters with a codec, and gradients
  std::vector<std::optional<RankSums>> rank_sums_; ///< by node, for synchronized batch norms
  BufferPtr arena_, own_;
  std::vector<void*> addresses_; ///< by TensorId, of the running node's tensors
};

} // namespace

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch-enum"
Status run_node(const Graph& graph, const Node& node, std::span<void* const> memory,
                const RankSumsOfNode& rank_sums) {
  TROUPE_TRY(check_dtypes(graph, node));
  const Operands operands{graph, node, memory, rank_sums};
  switch (node.op) {
#define TROUPE_OP(name)                                                                            \
  case Op::name:                                                                                   \
    return name(operands);
#include "core/graph/ops.def"
#undef TROUPE_OP
  }
  return fail(Errc::internal, "the interpreter does not support op {}", static_cast<int>(node.op));
}
#pragma GCC diagnostic pop

Result<std::unique_ptr<Executable>> compile_interpreter(HostDevice& device, const Graph& graph,
                                                        const CompileOptions& options) {
  auto made = std::make_unique<InterpreterExecutable>(device, graph, options);
  TROUPE_TRY(made->allocate());
  return made;
}

} // namespace troupe::cpu
