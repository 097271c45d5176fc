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

/// Flat kernels run on streams of this device and access memory of this device; copy() also
/// accesses host memory. A copy to the host never blocks the caller. A copy from the host blocks
/// until the source has been read, unless the source is page-locked.
///
/// optimizer_step and update_loss_scale change nothing if they follow a failed wait for the host in
/// their stream, even if they were enqueued before the failure (kernels/update_gate.hpp).
class CudaDevice final : public Device {
public:
  CudaDevice(std::shared_ptr<DeviceContext> context, DeviceInfo info);
  ~CudaDevice() override;

  const DeviceInfo& info() const override { return info_; }
  MemoryUse memory() const override { return context_->memory().use(); }
  Result<BufferPtr> allocate(std::size_t bytes, MemoryKind kind) override;
  /// Allocates host memory that copies asynchronously and at full speed. It is not part of
  /// memory().
  Result<BufferPtr> allocate_pinned(std::size_t bytes);
  /// Returns the registry of cuDNN plans; the first call opens it. For set-up: one thread at a
  /// time. Errors: unsupported if cuDNN is missing.
  Result<PlanRegistry*> plans();
  /// Returns the registry of cuBLASLt algorithms, as plans() does for cuDNN.
  Result<MatmulPlanRegistry*> products();
  /// Allows kernels of another device of this process to read and write this device's memory.
  /// Errors: unsupported, unless reachable_from(peer); device.
  Status open_memory_to(int peer) const;
  Status open_memory_to(const CudaDevice& peer) const { return open_memory_to(peer.info_.index); }
  /// Whether the machine has a path from the other device to this one's memory.
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
  /// Copies to pageable host memory: the stream copies to page-locked memory, and a callback copies
  /// the rest of the way.
  void copy_out(CudaStream& stream, void* destination, const void* source, std::size_t bytes);

  std::shared_ptr<DeviceContext> context_;
  DeviceInfo info_;
  // Declared last: they own streams and measure in memory of this device.
  std::unique_ptr<PlanRegistry> plans_;
  std::unique_ptr<MatmulPlanRegistry> products_;
};

/// Returns 0 if there is no driver or no device.
int cuda_device_count();

/// `peers` is shared with the node's other devices. Errors: unsupported if the device does not
/// exist or is older than compute capability 8.0.
Result<std::unique_ptr<CudaDevice>> make_cuda_device(int index, Say say = {},
                                                     DevicePeers peers = {});

} // namespace troupe::gpu
