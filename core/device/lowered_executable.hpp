/// The base class of every device's executable, and its named tensors.
#pragma once

#include "core/device/placement.hpp"
#include "core/error.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

/// The tensors of a compiled graph that are accessed by name from outside: those a batch fills, and
/// those the host reads.
class GraphPorts {
public:
  /// Errors: unsupported when the graph has more than most_batch_tensors inputs and targets or more
  /// than most_outputs outputs.
  static Result<GraphPorts> create(const Graph& graph);

  /// The tensors that a batch must have, without data.
  const BatchView& batch() const { return batch_; }
  /// Errors: invalid_input when a tensor is missing, unknown, or has another type or shape.
  Status bind(const BatchView& batch);
  /// The addresses of the bound batch.
  const BatchAddresses& addresses() const { return addresses_; }

  /// Scalars of type f32, in the order of creation, and their names.
  const std::vector<TensorId>& outputs() const { return outputs_; }
  const std::shared_ptr<const std::vector<std::string>>& output_names() const {
    return output_names_;
  }

private:
  BatchView batch_;
  BatchAddresses addresses_ = {};
  std::vector<TensorId> outputs_;
  std::shared_ptr<const std::vector<std::string>> output_names_;
};

/// Returns the activation or output called `name`, of which `room` elements are to be read. Errors:
/// invalid_input when the name is unknown, the number of elements differs, or the tensor's memory
/// is reused before the end (MemoryPlan::kept).
Result<TensorId> readable_tensor(const Graph& graph, const MemoryPlan& plan, std::string_view name,
                                 std::size_t room);

/// The members that every device's executable has: the graph, its memory, and the bound buffers.
class LoweredExecutable : public Executable {
public:
  const StorageLayout& layout() const final { return layout_; }
  void bind(UnitId unit, float* parameters, float* gradients) override {
    buffers_[static_cast<std::size_t>(unit)] = {parameters, gradients};
  }
  void bind_statistics(float* statistics) override { statistics_ = statistics; }
  void bind_loss_scale(const float* scale) override { loss_scale_ = scale; }
  void bind_sum_over_ranks(SumOverRanks sum) final { sum_over_ranks_ = std::move(sum); }
  const BatchView& batch() const final { return ports_.batch(); }
  Status set_batch(const BatchView& batch) final { return ports_.bind(batch); }
  void read_outputs(Stream& stream, StepOutputs* host) final {
    const Binding nothing;
    const Frame frame{places_, nothing, memory_};
    host->names = ports_.output_names();
    for (std::size_t i = 0; i < ports_.outputs().size(); ++i)
      device_.copy(stream, &host->values[i], frame.data<float>(ports_.outputs()[i]), sizeof(float));
  }

protected:
  LoweredExecutable(Device& device, const Graph& graph, const MemoryPlan& plan)
      : device_{device}, graph_{graph}, plan_{plan}, buffers_(graph.units.size()) {}

  /// The buffers of a run of the unit that is enqueued now.
  Binding binding(UnitId unit) const {
    const auto& [parameters, gradients] = buffers_[static_cast<std::size_t>(unit)];
    return {parameters, gradients, statistics_, loss_scale_, ports_.addresses()};
  }

  Device& device_;
  Graph graph_;
  GraphPorts ports_;
  MemoryPlan plan_;
  StorageLayout layout_;
  std::vector<Place> places_;
  ExecutableMemory memory_;
  SumOverRanks sum_over_ranks_;

private:
  std::vector<std::pair<float*, float*>> buffers_; ///< by unit: parameters and gradients
  float* statistics_ = nullptr;
  const float* loss_scale_ = nullptr;
};

} // namespace troupe
