/// The members that every device's executable has: the graph, its memory, and the bound buffers.
#pragma once

#include "core/device/graph_ports.hpp"
#include "core/device/placement.hpp"

#include <utility>
#include <vector>

namespace troupe {

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
