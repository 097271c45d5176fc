/// Runs a graph node by node on the scalar ops: the reference for other engines.
#pragma once

#include "core/device/executable.hpp"
#include "core/device/graph_ports.hpp"
#include "cpu/interpreter/ops.hpp"

#include <optional>

namespace troupe::cpu {

class HostDevice;

/// Without a memory plan, every activation has its own memory. With one, activations lie where the
/// plan puts them, which checks the plan. Takes any StorageLayout, codecs included.
class InterpreterExecutable final : public Executable {
public:
  /// Precondition: the graph is valid. Errors: out_of_memory; a layout or plan of another graph.
  static Result<std::unique_ptr<InterpreterExecutable>>
  create(HostDevice& device, const Graph& graph, const CompileOptions& options);

  const StorageLayout& layout() const override { return layout_; }
  void bind(UnitId unit, float* parameters, float* gradients) override;
  void bind_statistics(float* statistics) override { statistics_ = statistics; }
  void bind_loss_scale(const float* scale) override { loss_scale_ = scale; }
  void bind_sum_over_ranks(SumOverRanks sum) override { sum_over_ranks_ = std::move(sum); }
  /// Nothing is derived from parameters: they are decoded on each read.
  void refresh(Stream&, UnitId) override {}
  const BatchView& batch() const override { return ports_.batch(); }
  Status set_batch(const BatchView& batch) override { return ports_.bind(batch); }
  void forward(Stream& stream, UnitId unit) override { enqueue(stream, unit, Phase::forward); }
  void backward(Stream& stream, UnitId unit) override { enqueue(stream, unit, Phase::backward); }
  void read_outputs(Stream& stream, StepOutputs* host) override;
  Status read_tensor(Stream& stream, std::string_view name, std::span<float> host) override;

private:
  struct UnitBuffers {
    float* parameters = nullptr;
    float* gradients = nullptr;
  };
  /// Addresses that the caller has bound, at the time of a call.
  struct Bindings {
    UnitBuffers unit;
    float* statistics;
    const float* loss_scale;
    BatchAddresses batch;
  };

  InterpreterExecutable(const Graph& graph, const CompileOptions& options);
  Status allocate(HostDevice& device);
  Status allocate_tensor(HostDevice& device, std::size_t id);
  void enqueue(Stream& stream, UnitId unit, Phase phase);
  /// Returns the node's sums over all ranks, valid once the enqueued work is done; null if the node
  /// uses its own sums.
  RankSums* enqueue_sums(Stream& stream, std::size_t node, const Bindings& bindings);
  /// Calls run() while all tensors of the node have addresses in memory_.
  template <class Run>
  Status with_bound(const Node& node, const Bindings& bindings, Run run);
  float* stored(std::size_t id, const Bindings& bindings) const;

  Graph graph_;
  GraphPorts ports_;
  MemoryPlan plan_;
  StorageLayout layout_;
  std::vector<const Slot*> slots_;
  std::vector<UnitBuffers> units_;
  float* statistics_ = nullptr;
  const float* loss_scale_ = nullptr;
  SumOverRanks sum_over_ranks_;
  std::vector<std::optional<RankSums>> rank_sums_; ///< by node, for synchronized batch norms
  BufferPtr arena_;
  std::vector<BufferPtr> buffers_;
  std::vector<void*> memory_; ///< by TensorId; the stream's thread fills in bound addresses
};

} // namespace troupe::cpu
