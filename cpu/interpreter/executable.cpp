#include "cpu/interpreter/executable.hpp"

#include "core/fail.hpp"
#include "cpu/engines.hpp"
#include "cpu/host_device.hpp"
#include "cpu/interpreter/detail/storage.hpp"

#include <algorithm>

namespace troupe::cpu {

namespace {

std::size_t bytes_of(const Tensor& tensor) {
  return std::max<std::size_t>(
      static_cast<std::size_t>(tensor.shape.elements()) * size_of(tensor.dtype), 1);
}

} // namespace

InterpreterExecutable::InterpreterExecutable(const Graph& graph, const CompileOptions& options)
    : graph_{graph}, plan_{options.memory}, layout_{options.layout ? *options.layout
                                                                   : canonical_layout(graph)},
      units_(graph.units.size()), memory_(graph.tensors.size()) {
  rank_sums_.resize(graph_.nodes.size());
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
    if (const auto& node = graph_.nodes[i]; is_synchronized(node))
      rank_sums_[i].emplace(static_cast<std::size_t>(graph_[node.inputs[0]].shape.dims.back()));
}

Result<std::unique_ptr<InterpreterExecutable>>
InterpreterExecutable::create(HostDevice& device, const Graph& graph,
                              const CompileOptions& options) {
  std::unique_ptr<InterpreterExecutable> made{new InterpreterExecutable{graph, options}};
  TROUPE_TRY(made->ports_, GraphPorts::create(graph));
  if (!made->plan_.offsets.empty() && made->plan_.offsets.size() != graph.tensors.size())
    return fail(Errc::internal, "the memory plan belongs to another graph");
  TROUPE_TRY(made->slots_, find_slots(made->layout_, made->graph_));
  TROUPE_TRY(made->allocate(device));
  return made;
}

Status InterpreterExecutable::allocate(HostDevice& device) {
  if (plan_.arena_bytes > 0) {
    TROUPE_TRY(arena_, device.allocate(plan_.arena_bytes, MemoryKind::activations));
  }
  for (std::size_t i = 0; i < graph_.tensors.size(); ++i)
    TROUPE_TRY(allocate_tensor(device, i));
  return {};
}

Status InterpreterExecutable::allocate_tensor(HostDevice& device, std::size_t id) {
  const auto& tensor = graph_.tensors[id];
  if (tensor.role != Role::activation && tensor.role != Role::output)
    return {};
  const auto offset = plan_.offsets.empty() ? MemoryPlan::not_in_arena : plan_.offsets[id];
  if (offset != MemoryPlan::not_in_arena) {
    memory_[id] = arena_->data() + offset;
    return {};
  }
  TROUPE_TRY(auto buffer, device.allocate(bytes_of(tensor), MemoryKind::activations));
  memory_[id] = buffer->data();
  buffers_.push_back(std::move(buffer));
  return {};
}

void InterpreterExecutable::bind(UnitId unit, float* parameters, float* gradients) {
  units_[static_cast<std::size_t>(unit)] = {parameters, gradients};
}

void InterpreterExecutable::enqueue(Stream& stream, UnitId unit, Phase phase) {
  const Bindings bindings{units_[static_cast<std::size_t>(unit)], statistics_, loss_scale_,
                          ports_.addresses()};
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const auto& node = graph_.nodes[i];
    if (node.unit != unit || node.phase != phase)
      continue;
    const auto* const sums = enqueue_sums(stream, i, bindings);
    host_stream(stream).enqueue([this, &node, bindings, sums] {
      return with_bound(node, bindings,
                        [&] { return run_node(graph_, node, memory_, {.taken = sums}); });
    });
  }
}

RankSums* InterpreterExecutable::enqueue_sums(Stream& stream, std::size_t node,
                                              const Bindings& bindings) {
  auto& sums = rank_sums_[node];
  if (!sums || !sum_over_ranks_)
    return nullptr;
  host_stream(stream).enqueue([this, &node = graph_.nodes[node], bindings, &sums = *sums] {
    return with_bound(node, bindings,
                      [&] { return run_node(graph_, node, memory_, {.given = &sums}); });
  });
  sum_over_ranks_(stream, sums->values().data(), sums->values().size());
  return &*sums;
}

/// Returns the address of the stored form of a parameter, statistic or gradient.
float* InterpreterExecutable::stored(std::size_t id, const Bindings& bindings) const {
  const auto offset = slots_[id]->offset;
  switch (graph_.tensors[id].role) {
  case Role::parameter:
    return bindings.unit.parameters + offset;
  case Role::gradient:
    return bindings.unit.gradients + offset;
  default:
    return bindings.statistics + offset;
  }
}

template <class Run>
Status InterpreterExecutable::with_bound(const Node& node, const Bindings& bindings, Run run) {
  struct Decoded {
    std::size_t id;
    std::vector<float> values;
  };
  std::vector<Decoded> decoded; // stays alive while the node runs
  for (const auto* ids : {&node.inputs, &node.outputs})
    for (const auto id : *ids) {
      const auto i = static_cast<std::size_t>(id);
      const auto role = graph_[id].role;
      if (const auto index = batch_index(graph_, id); index >= 0) // ops do not write their inputs
        memory_[i] = const_cast<void*>(bindings.batch[static_cast<std::size_t>(index)]);
      else if (role == Role::loss_scale)
        memory_[i] = const_cast<float*>(bindings.loss_scale);
      else if (slots_[i] && !slots_[i]->codec)
        memory_[i] = stored(i, bindings);
      else if (slots_[i]) {
        std::vector<float> values(static_cast<std::size_t>(graph_[id].shape.elements()));
        if (role != Role::gradient)
          slots_[i]->codec->decode({stored(i, bindings), slots_[i]->elements}, values);
        memory_[i] = values.data();
        decoded.push_back({i, std::move(values)});
      }
    }
  TROUPE_TRY(run());
  for (const auto& [i, values] : decoded)
    if (graph_.tensors[i].role != Role::parameter)
      slots_[i]->codec->encode(values, {stored(i, bindings), slots_[i]->elements});
  return {};
}

void InterpreterExecutable::read_outputs(Stream& stream, StepOutputs* host) {
  host->names = ports_.output_names();
  host_stream(stream).enqueue([this, host]() -> Status {
    for (std::size_t i = 0; i < ports_.outputs().size(); ++i) {
      const auto id = ports_.outputs()[i];
      host->values[i] =
          static_cast<float>(load(graph_[id], memory_[static_cast<std::size_t>(id)])[0]);
    }
    return {};
  });
}

Status InterpreterExecutable::read_tensor(Stream& stream, std::string_view name,
                                          std::span<float> host) {
  TROUPE_TRY(const auto id, readable_tensor(graph_, plan_, name, host.size()));
  host_stream(stream).enqueue([this, i = static_cast<std::size_t>(id), host]() -> Status {
    const auto values = load(graph_.tensors[i], memory_[i]);
    std::ranges::transform(values, host.begin(), [](double v) { return static_cast<float>(v); });
    return {};
  });
  return {};
}

Result<std::unique_ptr<Executable>> compile_interpreter(HostDevice& device, const Graph& graph,
                                                        const CompileOptions& options) {
  return InterpreterExecutable::create(device, graph, options);
}

} // namespace troupe::cpu
