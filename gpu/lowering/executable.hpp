/// A graph lowered to cuDNN, cuBLASLt and the project's own kernels.
#pragma once

#include "core/device/lowered_executable.hpp"
#include "gpu/cuda_graph.hpp"
#include "gpu/lowering/lowering.hpp"

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace troupe::gpu {

/// Captures a whole pass (run()) into a CUDA graph at its second run with the same micro-batch
/// buffers and gradient mode, and launches the graph from then on. A pass that waits for other
/// ranks is never captured.
class CudaExecutable final : public LoweredExecutable {
public:
  /// Precondition: the device is the calling thread's current one. Errors: unsupported if no kernel
  /// or library here supports the graph.
  static Result<std::unique_ptr<CudaExecutable>> create(CudaDevice& device, const Graph& graph,
                                                        const CompileOptions& options);

  void bind(UnitId unit, float* parameters, float* gradients) override;
  void bind_statistics(float* statistics) override;
  void bind_loss_scale(const float* scale) override;
  void refresh(Stream& stream, UnitId unit) override;
  void refresh_all(Stream& stream) override;
  ParameterCopies copies() const override;
  void forward(Stream& stream, UnitId unit) override;
  bool adds_gradients() const override { return fresh_memory_ != nullptr; }
  void set_gradient_mode(GradientMode mode) override { mode_ = mode; }
  void backward(Stream& stream, UnitId unit) override;
  void run(Stream& stream) override;
  Result<PassTimes> time_steps(Stream& stream) override;
  Status read_tensor(Stream& stream, std::string_view name, std::span<float> host) override;

  /// Runs one pass. Calls `done` after enqueueing each step, in execution order.
  void run_steps(Stream& stream, const std::function<void(const Step&)>& done);

private:
  struct Unit {
    std::vector<StepPtr> forward, backward;
  };

  CudaExecutable(CudaDevice& device, const Graph& graph, const CompileOptions& options);
  Status lower_nodes(Lowering& lowering);
  Status allocate(const Lowering& lowering);
  Status allocate_fresh();
  void add_at_end(std::size_t unit, StepPtr step);
  std::size_t copy_bytes(std::size_t unit) const;
  Status load_kernels();
  /// `sums`: as Launch::sums.
  void enqueue(CudaStream& stream, const Binding& binding, std::span<const StepPtr> steps,
               float* sums = nullptr);
  void enqueue_backward(CudaStream& stream, Binding binding, std::size_t unit, GradientMode mode);
  /// With GradientMode::add, exchanges the gradients for the memory of fresh ones and returns them.
  float* exchange_gradients(Binding& binding, GradientMode mode) const;
  StepTime time_of(const Step& step, std::chrono::nanoseconds time) const;
  Result<CudaGraph> capture(CudaStream& stream);

  std::vector<Unit> units_;
  BufferPtr arena_, own_, workspace_, copy_memory_, staging_;
  BufferPtr fresh_memory_; ///< null without CompileOptions::adds_gradients
  GradientMode mode_ = GradientMode::overwrite;
  std::vector<DType> copy_types_;  ///< by unit (storage.hpp)
  std::vector<std::byte*> copies_; ///< by unit
  /// By the buffers that a pass reads, and what it does to gradients. Empty: run once, not captured
  /// yet.
  std::map<std::pair<BatchAddresses, GradientMode>, std::optional<CudaGraph>> graphs_;
};

} // namespace troupe::gpu
