/// One CUDA device.
#pragma once

#include "core/device/device.hpp"
#include "core/device/executable.hpp"
#include "gpu/cuda_stream.hpp"

#include <memory>
#include <string>

namespace troupe::gpu {

class MatmulPlanRegistry;
class PlanRegistry;

/// Flat kernels are enqueued on streams of this device and take memory of this device; copy() takes
/// the host's too. Copies to the host never hold up the caller; copies from it do until the source
/// has been read, unless it is page-locked.
///
/// optimizer_step and update_loss_scale behind a wait for the host that fails change nothing, also
/// when they were enqueued before (kernels/update_gate.hpp).
class CudaDevice final : public Device {
public:
  CudaDevice(std::shared_ptr<DeviceContext> context, DeviceInfo info);
  ~CudaDevice() override;

  const DeviceInfo& info() const override { return info_; }
  MemoryUse memory() const override { return context_->memory().use(); }
  Result<BufferPtr> allocate(std::size_t bytes, MemoryKind kind) override;
  /// Host memory that copies at full speed and asynchronously; it is in no account.
  Result<BufferPtr> allocate_pinned(std::size_t bytes);
  /// The book of cuDNN's plans, opened at the first call. For setting up: one thread at a time.
  /// Errors: unsupported, where there is no cuDNN.
  Result<PlanRegistry*> plans();
  /// The book of cuBLASLt's algorithms, likewise.
  Result<MatmulPlanRegistry*> products();
  /// Lets kernels of another device of this process read and write this one's memory from now on.
  /// Errors: unsupported, unless reachable_from(peer); device.
  Status open_memory_to(int peer) const;
  Status open_memory_to(const CudaDevice& peer) const { return open_memory_to(peer.info_.index); }
  /// Whether the machine has a way from the other device to this one's memory.
  bool reachable_from(int peer) const;
  const DevicePeers& peers() const { return context_->peers(); }
  /// Passes a line to the function that make_cuda_device() was given.
  void say(const std::string& line) const { context_->say(line); }
  std::unique_ptr<Stream> create_stream(const StreamOptions& options) override;
  Result<std::unique_ptr<Executable>> compile(const Graph& graph,
                                              const CompileOptions& options) override;

  void copy(Stream& stream, void* destination, const void* source, std::size_t bytes) override;
  void zero(Stream& stream, void* destination, std::size_t bytes) override;
  void add(Stream& stream, float* destination, const float* source, std::size_t elements) override;
  void add_product(Stream& stream, float* sum, const float* a, const float* b,
                   std::size_t elements) override;
  void scale(Stream& stream, float* values, float factor, std::size_t elements) override;
  void round(Stream& stream, float* values, DType type, std::size_t elements) override;
  void narrow(Stream& stream, const float* source, void* destination, DType type,
              std::size_t elements) override;
  void widen(Stream& stream, const void* source, DType type, float* destination,
             std::size_t elements) override;
  void quantize(Stream& stream, const float* source, void* destination, QuantizedType type,
                std::size_t elements) override;
  void dequantize(Stream& stream, const void* source, QuantizedType type, float* destination,
                  std::size_t elements) override;
  void add_squared_norm(Stream& stream, const OptimizerArguments& arguments, const float* gradients,
                        std::size_t elements, double* result,
                        const LossScaleState* scaler) override;
  void clip_factor(Stream& stream, const double* squared_norm, float max_norm,
                   float* factor) override;
  void optimizer_step(Stream& stream, const OptimizerArguments& arguments,
                      const OptimizerViews& views, const float* clip,
                      const LossScaleState* scaler) override;
  void check_finite(Stream& stream, const float* values, std::size_t elements,
                    float* found_inf) override;
  void update_loss_scale(Stream& stream, const LossScaleOptions& options,
                         LossScaleState* state) override;
  void count_update(Stream& stream, std::int64_t* steps) override;
  void keep(Stream& stream, void* destination, const void* source, std::size_t bytes) override;
  void gate_updates(Stream& stream, const float* votes, float needed) override;

private:
  /// To ordinary memory of the host: page-locked memory first, the rest when the stream has come
  /// that far.
  void copy_out(CudaStream& stream, void* destination, const void* source, std::size_t bytes);

  std::shared_ptr<DeviceContext> context_;
  DeviceInfo info_;
  // Last: they have streams and measure in memory of this device.
  std::unique_ptr<PlanRegistry> plans_;
  std::unique_ptr<MatmulPlanRegistry> products_;
};

/// 0 where there is no driver or no device.
int cuda_device_count();

/// `peers`: shared with the node's other devices. Errors: unsupported when there is no such device,
/// or it is older than compute capability 8.0.
Result<std::unique_ptr<CudaDevice>> make_cuda_device(int index, Say say = {},
                                                     DevicePeers peers = {});

} // namespace troupe::gpu
