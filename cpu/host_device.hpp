/// The host's processors as a device.
#pragma once

#include "core/device/description.hpp"
#include "core/device/device.hpp"
#include "core/device/executable.hpp"
#include "core/device/memory_account.hpp"
#include "cpu/host_stream.hpp"

#include <cstdint>
#include <memory>

namespace troupe::cpu {

/// Whether the buffers of a device have memory.
enum class Backing : std::uint8_t {
  memory,
  none, ///< buffers are only counted: graphs can be compiled, but nothing can run
};

class HostDevice final : public Device {
public:
  /// `threads` is only reported by info(); each stream has its own number.
  HostDevice(int index, int threads, Backing backing = Backing::memory);

  const DeviceInfo& info() const override { return info_; }
  MemoryUse memory() const override { return account_->use(); }
  Result<BufferPtr> allocate(std::size_t bytes, MemoryKind kind) override;
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
  void keep(Stream& stream, void* destination, const void* source, std::size_t bytes) override {
    copy(stream, destination, source, bytes);
  }
  void gate_updates(Stream& stream, const float* votes, float needed) override;

private:
  DeviceInfo info_;
  Backing backing_;
  std::shared_ptr<MemoryAccount> account_ = std::make_shared<MemoryAccount>();
};

/// A thread count below 1 means every core that the process may run on.
std::unique_ptr<HostDevice> make_host_device(int index, int threads,
                                             Backing backing = Backing::memory);

/// Describes the processor, instruction sets, cores and memory, and what each precision means on
/// this processor, for `troupe doctor`.
Traits description();

} // namespace troupe::cpu
