#include "gpu/lowering/executable.hpp"

#include "core/fail.hpp"
#include "core/float16.hpp"
#include "gpu/kernels/flat.hpp"
#include "gpu/lowering/fresh_gradients.hpp"
#include "gpu/lowering/storage.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <utility>

namespace troupe::gpu {

namespace {

/// Converts a tensor's values, as stored, to f32.
void widen(DType type, const std::byte* raw, std::span<float> values) {
  const auto each = [&]<class T>(T, auto convert) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      T value;
      std::memcpy(&value, raw + i * sizeof(T), sizeof(T));
      values[i] = convert(value);
    }
  };
  switch (type) {
  case DType::f16:
    return each(std::uint16_t{}, float_from_f16);
  case DType::bf16:
    return each(std::uint16_t{}, float_from_bf16);
  case DType::i32:
    return each(std::int32_t{}, [](std::int32_t value) { return static_cast<float>(value); });
  case DType::u8:
    return each(std::uint8_t{}, [](std::uint8_t value) { return static_cast<float>(value); });
  case DType::f32:
    return each(0.0f, [](float value) { return value; });
  case DType::f64:
    return each(0.0, [](double value) { return static_cast<float>(value); });
  }
}

/// The end of a step's name.
std::string shapes_of(const Graph& graph, const Node& node) {
  return fmt::format(" {} -> {}", graph[node.inputs[0]].shape.to_string(),
                     graph[node.outputs[0]].shape.to_string());
}

} // namespace

CudaExecutable::CudaExecutable(CudaDevice& device, const Graph& graph,
                               const CompileOptions& options)
    : LoweredExecutable{device, graph, options.memory}, units_(graph.units.size()) {}

Result<std::unique_ptr<CudaExecutable>>
CudaExecutable::create(CudaDevice& device, const Graph& graph, const CompileOptions& options) {
  if (options.engine == Engine::interpreter)
    return fail(Errc::unsupported,
                "the interpreter runs only on the host; set devices.kind to cpu");
  TROUPE_TRY(auto ports, GraphPorts::create(graph));
  std::unique_ptr<CudaExecutable> made{new CudaExecutable{device, graph, options}};
  made->ports_ = std::move(ports);
  TROUPE_TRY(auto lowering, Lowering::make(device, made->graph_, options));
  TROUPE_TRY(made->lower_nodes(*lowering));
  made->layout_ = std::move(lowering->layout);
  made->places_ = std::move(lowering->placement.places);
  made->copy_types_ = std::move(lowering->copy_types);
  TROUPE_TRY(made->allocate(*lowering));
  if (options.adds_gradients)
    TROUPE_TRY(made->allocate_fresh());
  TROUPE_TRY(made->load_kernels());
  return made;
}

Status CudaExecutable::lower_nodes(Lowering& lowering) {
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const auto& node = graph_.nodes[i];
    TROUPE_TRY(auto step, lower(lowering, node));
    step->node_index = i;
    step->name += shapes_of(graph_, node);
    auto& unit = units_[static_cast<std::size_t>(node.unit)];
    (node.phase == Phase::forward ? unit.forward : unit.backward).push_back(std::move(step));
  }
  auto fresh = fresh_gradients(lowering);
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    add_at_end(unit, widen_gradients(lowering.narrow_gradients[unit]));
    if (lowering.options.adds_gradients)
      add_at_end(unit, add_gradients(std::move(fresh[unit])));
  }
  return {};
}

/// Adds a step to the unit's backward, unless it is null.
void CudaExecutable::add_at_end(std::size_t unit, StepPtr step) {
  if (!step)
    return;
  auto& backward = units_[unit].backward;
  step->node_index = backward.back()->node_index;
  backward.push_back(std::move(step));
}

/// Returns the size of the copy of a unit's parameters; 0 if there is none.
std::size_t CudaExecutable::copy_bytes(std::size_t unit) const {
  const auto type = copy_types_[unit];
  return type == DType::f32 ? 0 : aligned(layout_.unit_elements[unit] * size_of(type));
}

Status CudaExecutable::allocate(const Lowering& lowering) {
  std::size_t workspace = 0, copies = 0;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    for (const auto* const steps : {&units_[i].forward, &units_[i].backward})
      for (const auto& step : *steps)
        workspace = std::max(workspace, step->workspace_bytes());
    copies += copy_bytes(i);
  }
  const auto take = [&](std::size_t bytes, MemoryKind kind, BufferPtr& buffer) -> Status {
    TROUPE_TRY(buffer, device_.allocate(std::max<std::size_t>(bytes, 1), kind));
    return {};
  };
  TROUPE_TRY(take(plan_.arena_bytes, MemoryKind::activations, arena_));
  TROUPE_TRY(take(lowering.placement.own_bytes, MemoryKind::activations, own_));
  TROUPE_TRY(take(workspace, MemoryKind::workspace, workspace_));
  TROUPE_TRY(take(copies, MemoryKind::workspace, copy_memory_));
  TROUPE_TRY(take(lowering.staging_bytes(), MemoryKind::workspace, staging_));
  auto* at = copy_memory_->data();
  for (std::size_t i = 0; i < units_.size(); ++i) {
    copies_.push_back(copy_types_[i] != DType::f32 ? at : nullptr);
    at += copy_bytes(i);
  }
  memory_ = {arena_->data(), own_->data(), workspace_->data()};
  return {};
}

Status CudaExecutable::allocate_fresh() {
  const auto bytes = std::ranges::max(layout_.unit_elements) * sizeof(float);
  TROUPE_TRY(fresh_memory_, device_.allocate(bytes, MemoryKind::workspace));
  return {};
}

void CudaExecutable::bind(UnitId unit, float* parameters, float* gradients) {
  LoweredExecutable::bind(unit, parameters, gradients);
  graphs_.clear(); // they contain the old addresses
}

void CudaExecutable::bind_statistics(float* statistics) {
  LoweredExecutable::bind_statistics(statistics);
  graphs_.clear();
}

void CudaExecutable::bind_loss_scale(const float* scale) {
  LoweredExecutable::bind_loss_scale(scale);
  graphs_.clear();
}

void CudaExecutable::refresh(Stream& stream, UnitId unit) {
  const auto i = static_cast<std::size_t>(unit);
  if (copy_types_[i] == DType::f32)
    return;
  cuda_stream(stream).enqueue("refresh", [&](cudaStream_t raw) {
    launch_cast(raw, binding(unit).parameters, DType::f32, copies_[i], copy_types_[i],
                layout_.unit_elements[i]);
  });
}

void CudaExecutable::refresh_all(Stream& stream) {
  for (const auto type : {DType::f16, DType::bf16}) {
    std::vector<CastRange> ranges;
    for (std::size_t unit = 0; unit < units_.size(); ++unit)
      if (copy_types_[unit] == type)
        ranges.push_back({binding(static_cast<UnitId>(unit)).parameters, copies_[unit],
                          layout_.unit_elements[unit]});
    if (!ranges.empty())
      cuda_stream(stream).enqueue(
          "refresh", [&](cudaStream_t raw) { launch_cast_ranges(raw, ranges, DType::f32, type); });
  }
}

ParameterCopies CudaExecutable::copies() const {
  const auto type = common_copy_type(copy_types_, layout_.unit_elements);
  return type == DType::f32 ? ParameterCopies{} : ParameterCopies{copy_memory_->data(), type};
}

void CudaExecutable::enqueue(CudaStream& stream, const Binding& binding,
                             std::span<const StepPtr> steps, float* sums) {
  const Frame frame{places_, binding, memory_};
  const auto launch = [&](cudaStream_t raw, const UpdateGate& gate = {}) {
    return Launch{raw, frame, stream.scratch(), copies_.data(), staging_->data(), gate, sums};
  };
  for (const auto& step : steps) {
    const auto sums = step->rank_sums();
    if (sums > 0) {
      stream.enqueue(step->name, [&](cudaStream_t raw) { step->reduce(launch(raw)); });
      if (sum_over_ranks_)
        sum_over_ranks_(stream, reinterpret_cast<double*>(memory_.scratch), sums);
    }
    stream.enqueue(step->name, [&](cudaStream_t raw) {
      return step->enqueue(launch(raw, sums > 0 ? stream.update_gate() : UpdateGate{}));
    });
  }
}

void CudaExecutable::forward(Stream& stream, UnitId unit) {
  enqueue(cuda_stream(stream), binding(unit), units_[static_cast<std::size_t>(unit)].forward);
}

void CudaExecutable::backward(Stream& stream, UnitId unit) {
  enqueue_backward(cuda_stream(stream), binding(unit), static_cast<std::size_t>(unit), mode_);
}

void CudaExecutable::enqueue_backward(CudaStream& stream, Binding binding, std::size_t unit,
                                      GradientMode mode) {
  auto* const sums = exchange_gradients(binding, mode);
  enqueue(stream, binding, units_[unit].backward, sums);
}

float* CudaExecutable::exchange_gradients(Binding& binding, GradientMode mode) const {
  return mode == GradientMode::add ? std::exchange(binding.gradients, fresh_memory_->floats())
                                   : nullptr;
}

void CudaExecutable::run_steps(Stream& stream, const std::function<void(const Step&)>& done) {
  const auto run_all = [&](UnitId unit, std::span<const StepPtr> steps) {
    auto bound = binding(unit);
    auto* const sums = exchange_gradients(bound, mode_);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      enqueue(cuda_stream(stream), bound, steps.subspan(i, 1), sums);
      done(*steps[i]);
    }
  };
  const auto units = static_cast<UnitId>(units_.size());
  for (UnitId unit = 0; unit < units; ++unit)
    run_all(unit, units_[static_cast<std::size_t>(unit)].forward);
  for (UnitId unit = units - 1; unit >= 0; --unit)
    run_all(unit, units_[static_cast<std::size_t>(unit)].backward);
}

/// A step's time includes the wait for its launch, because nothing is captured.
Result<PassTimes> CudaExecutable::time_steps(Stream& stream) {
  std::vector<const Step*> steps;
  std::vector<EventPtr> events = {stream.record()};
  run_steps(stream, [&](const Step& step) {
    steps.push_back(&step);
    events.push_back(stream.record());
  });
  TROUPE_TRY(stream.synchronize());
  PassTimes times{&graph_, {}};
  times.steps.reserve(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i)
    times.steps.push_back(time_of(*steps[i], events[i + 1]->time() - events[i]->time()));
  return times;
}

StepTime CudaExecutable::time_of(const Step& step, std::chrono::nanoseconds time) const {
  const auto& node = graph_.nodes[step.node_index];
  const auto shapes = shapes_of(graph_, node);
  StepTime timed{.name = step.name, .time = time};
  if (!timed.name.ends_with(shapes)) // casts weight gradients of the whole unit
    return timed;
  timed.name.resize(timed.name.size() - shapes.size());
  timed.node = step.node_index;
  if (only_renames(node, places_))
    timed.tensors.emplace();
  return timed;
}

void CudaExecutable::run(Stream& stream) {
  if (sum_over_ranks_) // a graph cannot wait for the host
    return Executable::run(stream);
  auto& on = cuda_stream(stream);
  const auto [found, first] = graphs_.try_emplace({ports_.addresses(), mode_});
  // Buffers that occur only once are not worth a graph.
  if (first)
    return Executable::run(stream);
  auto& graph = found->second;
  if (!graph) {
    auto captured = capture(on);
    if (!captured)
      return on.note(failure(std::move(captured).error()));
    graph = std::move(*captured);
  }
  graph->launch(on);
}

Result<CudaGraph> CudaExecutable::capture(CudaStream& stream) {
  TROUPE_TRY(CudaGraph::begin_capture(stream));
  Executable::run(stream);
  return CudaGraph::end_capture(stream);
}

Status CudaExecutable::read_tensor(Stream& stream, std::string_view name, std::span<float> host) {
  TROUPE_TRY(const auto id, readable_tensor(graph_, plan_, name, host.size()));
  const auto type = graph_[id].dtype;
  const auto raw = std::make_shared<std::vector<std::byte>>(host.size() * size_of(type));
  const Binding nothing;
  const Frame frame{places_, nothing, memory_};
  device_.copy(stream, raw->data(), frame.data<std::byte>(id), raw->size());
  stream.on_complete([raw, type, host](const Status& status) {
    if (status)
      widen(type, raw->data(), host);
  });
  return {};
}

} // namespace troupe::gpu
