#include "core/device/graph_ports.hpp"

#include "core/device/executable.hpp"
#include "core/fail.hpp"

#include <algorithm>

namespace troupe {

namespace {

bool is_of_batch(const Tensor& tensor) {
  return tensor.role == Role::input || tensor.role == Role::target;
}

std::string describe(const BatchTensor& tensor) {
  return fmt::format("{} {} {}", tensor.name, tensor.shape.to_string(), to_string(tensor.dtype));
}

} // namespace

Result<GraphPorts> GraphPorts::create(const Graph& graph) {
  GraphPorts ports;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const auto& tensor = graph.tensors[i];
    if (is_of_batch(tensor))
      ports.batch_.push_back({tensor.name, tensor.dtype, tensor.shape});
    if (tensor.role != Role::output)
      continue;
    ports.outputs_.push_back(static_cast<TensorId>(i));
    names.push_back(tensor.name);
  }
  ports.output_names_ = std::make_shared<const std::vector<std::string>>(std::move(names));
  if (ports.batch_.size() > most_batch_tensors || ports.outputs_.size() > most_outputs)
    return fail(
        Errc::unsupported,
        "a graph may have at most {} inputs and targets and {} outputs, but this one has {} and {}",
        most_batch_tensors, most_outputs, ports.batch_.size(), ports.outputs_.size());
  return ports;
}

Status GraphPorts::bind(const BatchView& batch) {
  if (batch.size() != batch_.size())
    return fail(Errc::invalid_input, "the batch has {} tensors, but the graph takes {}",
                batch.size(), batch_.size());
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    const auto& wanted = batch_[i];
    const auto given = std::ranges::find(batch, wanted.name, &BatchTensor::name);
    if (given == batch.end())
      return fail(Errc::invalid_input, "the batch has no {}", wanted.name);
    if (given->dtype != wanted.dtype || given->shape != wanted.shape)
      return fail(Errc::invalid_input, "the graph takes {}, but the batch has {}", describe(wanted),
                  describe(*given));
    addresses_[i] = given->data;
  }
  return {};
}

Result<TensorId> readable_tensor(const Graph& graph, const MemoryPlan& plan, std::string_view name,
                                 std::size_t room) {
  const auto id = graph.find(name);
  if (!id || (graph[*id].role != Role::activation && graph[*id].role != Role::output))
    return fail(Errc::invalid_input, "the graph has no activation or output called {}", name);
  const auto i = static_cast<std::size_t>(*id);
  const bool in_arena = !plan.offsets.empty() && plan.offsets[i] != MemoryPlan::not_in_arena;
  if (in_arena && (plan.kept.empty() || !plan.kept[i]))
    return fail(Errc::invalid_input, "the memory plan did not keep {}", name);
  const auto elements = static_cast<std::size_t>(graph[*id].shape.elements());
  if (room != elements)
    return fail(Errc::invalid_input, "{} has {} elements, but there is room for {}", name, elements,
                room);
  return *id;
}

} // namespace troupe
