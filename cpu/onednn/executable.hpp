/// A graph lowered to oneDNN's primitives and our kernels.
#pragma once

#include "core/device/graph_ports.hpp"
#include "cpu/onednn/lowering.hpp"
#include "cpu/onednn/profile.hpp"

namespace troupe::cpu {

class OnednnExecutable final : public Executable, public Profiled {
public:
  static Result<std::unique_ptr<OnednnExecutable>>
  create(HostDevice& device, const Graph& graph, const CompileOptions& options, Bf16Mode bf16);

  const StorageLayout& layout() const override { return layout_; }
  void bind(UnitId unit, float* parameters, float* gradients) override;
  void bind_statistics(float* statistics) override { statistics_ = statistics; }
  void bind_loss_scale(const float* scale) override { loss_scale_ = scale; }
  void bind_sum_over_ranks(SumOverRanks sum) override { sum_over_ranks_ = std::move(sum); }
  void refresh(Stream& stream, UnitId unit) override;
  const BatchView& batch() const override { return ports_.batch(); }
  Status set_batch(const BatchView& batch) override { return ports_.bind(batch); }
  void forward(Stream& stream, UnitId unit) override;
  void backward(Stream& stream, UnitId unit) override;
  void read_outputs(Stream& stream, StepOutputs* host) override;
  Status read_tensor(Stream& stream, std::string_view name, std::span<float> host) override;

  void start_profile() override { profiling_ = true; }
  std::vector<ProfileLine> profile(bool in_detail) const override;

private:
  /// Steps, copies and buffers of one unit.
  struct Unit {
    std::vector<StepPtr> forward, backward;
    std::vector<const ParameterCopy*> copies;
    float* parameters = nullptr;
    float* gradients = nullptr;
  };
  /// Profile of one step.
  struct Timing {
    double seconds = 0;
    std::size_t runs = 0;
  };

  explicit OnednnExecutable(const Graph& graph) : graph_{graph}, units_(graph.units.size()) {}
  Status lower_nodes(Lowering& lowering);
  Status allocate(HostDevice& device, const Lowering& lowering);
  Binding binding(UnitId unit) const;
  void enqueue(Stream& stream, UnitId unit, std::span<const StepPtr> steps);
  /// Enqueues steps without other ranks, then the reduction of `reduced` if it is not null.
  void enqueue_alone(Stream& stream, UnitId unit, std::span<const StepPtr> steps, Step* reduced);
  /// Enqueues steps that either all run on the library's threads or all do not.
  void enqueue_run(Stream& stream, UnitId unit, std::span<const StepPtr> steps, bool by_library);
  Status run_timed(Step& step, const Frame& frame);

  Graph graph_;
  GraphPorts ports_;
  MemoryPlan plan_;
  StorageLayout layout_;
  std::vector<Place> places_;
  std::vector<Unit> units_;
  std::vector<std::unique_ptr<ParameterCopy>> copies_;
  BufferPtr arena_, own_, scratch_;
  ExecutableMemory memory_;
  float* statistics_ = nullptr;
  const float* loss_scale_ = nullptr;
  SumOverRanks sum_over_ranks_;
  bool profiling_ = false;
  std::map<const Step*, Timing> timings_;
};

} // namespace troupe::cpu
