/// What a device offers: memory, streams, events, a few flat-buffer kernels, and a compiler for
/// graphs.
///
/// Work is enqueued on streams and never waited for by actors: completion comes back through
/// Stream::on_complete, from a thread of the device, as a call that may only send a message.
#pragma once

#include "core/device/loss_scale.hpp"
#include "core/device/optimizer_math.hpp"
#include "core/device/quantized.hpp"
#include "core/error.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace troupe {

struct Graph;
struct CompileOptions;
class Executable;

enum class MemoryKind : std::uint8_t {
  parameters,
  gradients,
  optimizer,
  activations,
  workspace,
  data,
  communication, ///< parameters that were gathered, gradients on their way
  pinned         ///< of the host, page-locked: copies from and to it run beside the device's work
};
inline constexpr std::size_t memory_kinds = 8;
std::string_view to_string(MemoryKind kind);

struct MemoryUse {
  std::array<std::size_t, memory_kinds> current = {}, peak = {}; ///< bytes, by MemoryKind
  std::size_t total = 0, total_peak = 0; ///< bytes; without pinned, which is not the device's
};

/// Device memory, freed on destruction. 64-byte aligned (256 on CUDA).
class Buffer {
public:
  virtual ~Buffer() = default;
  virtual std::byte* data() const = 0;
  virtual std::size_t bytes() const = 0;
  float* floats() const { return reinterpret_cast<float*>(data()); }
};
using BufferPtr = std::shared_ptr<Buffer>;

/// A point in a stream's work.
class Event {
public:
  virtual ~Event() = default;
  virtual bool ready() const = 0;
  /// When it was reached, on the device's clock. Only when ready() and made with record(timed).
  virtual std::chrono::nanoseconds time() const = 0;
  /// The error of the stream that recorded it, so that streams of other devices that wait for it
  /// do not go on. Only when ready().
  virtual Status status() const { return {}; }
};
using EventPtr = std::shared_ptr<Event>;

/// A queue of work that runs in order. Enqueueing never blocks. One thread at a time may use a
/// stream. After the first failure a stream skips what is enqueued; on_complete hands out the
/// error.
class Stream {
public:
  using Callback = std::function<void(Status)>;

  virtual ~Stream() = default;
  /// An event that is ready when all work enqueued before is done.
  virtual EventPtr record() = 0;
  /// Work enqueued from now on starts after the event is ready. Does not block the caller.
  virtual void wait(EventPtr event) = 0;
  /// Calls back once all work enqueued before is done. The callback must not block.
  virtual void on_complete(Callback callback) = 0;
  /// Blocks until everything enqueued is done. For tests, benchmarks and teardown; never in a
  /// handler.
  virtual Status synchronize() = 0;
  /// What is enqueued until the matching end_range, by this thread, has a name in a profiler that
  /// watches the device. Ranges nest.
  virtual void begin_range(const std::string& /*name*/) {}
  virtual void end_range() {}
};

struct StreamOptions {
  std::string name = "compute";
  int threads = 1;     ///< host devices: how many threads the stream's kernels use
  bool urgent = false; ///< CUDA: its kernels start before those that wait on other streams
  /// CUDA: set for a stream that exchanges events with streams of the host. The host then sees its
  /// events without calling the driver, and the stream fails when it has waited for the host
  /// longer than this. 0: off.
  std::chrono::milliseconds host_limit{0};
};

/// Multiplications and additions of products that a device can do a second; 0: nobody knows.
struct PeakOperations {
  double f32 = 0, tf32 = 0, narrow = 0; ///< narrow: f16, bf16
};

struct DeviceInfo {
  bool on_host = true; ///< computes in the host's memory
  int index = 0;
  std::string name;    ///< "host:0 (2 threads, avx512_core_bf16)"
  std::string id = {}; ///< no other device of any machine has it; empty of the host's
  bool pinned = false; ///< allocates MemoryKind::pinned, which is not its own memory
  std::size_t memory_bytes = 0;
  PeakOperations peak = {};
};

/// Flat views that one optimizer step works on, all of `elements` fp32 values.
struct OptimizerViews {
  float* parameters;
  const float* gradients;
  float* state0 = nullptr; ///< momentum, or Adam's first moment
  float* state1 = nullptr; ///< Adam's second moment
  std::size_t elements = 0;
  /// The new parameters too, in `copied` (f16 or bf16), for who reads these; may be null.
  std::byte* copies = nullptr;
  DType copied = DType::f16;
};

class Device {
public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  virtual MemoryUse memory() const = 0;
  virtual Result<BufferPtr> allocate(std::size_t bytes, MemoryKind kind) = 0;
  virtual std::unique_ptr<Stream> create_stream(const StreamOptions& options) = 0;
  /// Lowers a graph that has been through the passes. The device must outlive the executable.
  virtual Result<std::unique_ptr<Executable>> compile(const Graph& graph,
                                                      const CompileOptions& options) = 0;

  // Kernels over flat memory, enqueued on a stream of this device.
  virtual void copy(Stream& stream, void* destination, const void* source, std::size_t bytes) = 0;
  virtual void zero(Stream& stream, void* destination, std::size_t bytes) = 0;
  /// destination += source.
  virtual void add(Stream& stream, float* destination, const float* source,
                   std::size_t elements) = 0;
  /// sum += a * b; a may be b.
  virtual void add_product(Stream& stream, float* sum, const float* a, const float* b,
                           std::size_t elements) = 0;
  /// values *= factor.
  virtual void scale(Stream& stream, float* values, float factor, std::size_t elements) = 0;
  /// Each value to the nearest one of a floating-point type, ties to even; beyond its range, to
  /// infinity.
  virtual void round(Stream& stream, float* values, DType type, std::size_t elements) = 0;
  /// Copies between f32 and a floating-point type; narrowing rounds as round does.
  virtual void narrow(Stream& stream, const float* source, void* destination, DType type,
                      std::size_t elements) = 0;
  virtual void widen(Stream& stream, const void* source, DType type, float* destination,
                     std::size_t elements) = 0;
  /// Copies to blocks that have a scale each, quantized_bytes(type, elements) of them; and back. A
  /// block with a value that is not finite comes back as NaN. Addresses are multiples of four.
  virtual void quantize(Stream& stream, const float* source, void* destination, QuantizedType type,
                        std::size_t elements) = 0;
  virtual void dequantize(Stream& stream, const void* source, QuantizedType type,
                          float* destination, std::size_t elements) = 0;
  /// *result += sum of squares, in double, of troupe::clipped_by_value of the gradients; *result is
  /// device memory. `scaler` (device memory, may be null): gradients are unscaled before.
  virtual void add_squared_norm(Stream& stream, const OptimizerArguments& arguments,
                                const float* gradients, std::size_t elements, double* result,
                                const LossScaleState* scaler) = 0;
  /// *factor = troupe::clip_factor(*squared_norm, max_norm); both in device memory.
  virtual void clip_factor(Stream& stream, const double* squared_norm, float max_norm,
                           float* factor) = 0;
  /// `clip` (device memory, may be null): the arguments' clip_factor. `scaler` (device memory, may
  /// be null): does nothing when it has found_inf, else takes the arguments as troupe::unscaled
  /// says, with the scaler's own count of steps.
  virtual void optimizer_step(Stream& stream, const OptimizerArguments& arguments,
                              const OptimizerViews& views, const float* clip,
                              const LossScaleState* scaler) = 0;
  /// *found_inf = 1 when a value is infinite or NaN, else it stays; in device memory.
  virtual void check_finite(Stream& stream, const float* values, std::size_t elements,
                            float* found_inf) = 0;
  /// troupe::update_loss_scale on a state in device memory.
  virtual void update_loss_scale(Stream& stream, const LossScaleOptions& options,
                                 LossScaleState* state) = 0;
  /// *steps += 1, in device memory: of those whose updates stand in front of it.
  virtual void count_update(Stream& stream, std::int64_t* steps) = 0;
  /// Copies as `copy` does, what may be needed for the step under way after the stream has failed.
  virtual void keep(Stream& stream, void* destination, const void* source, std::size_t bytes) = 0;
  /// The four above, where they are enqueued on this stream from now on, change nothing unless
  /// *votes (device memory) is `needed` when the stream comes to them. A stream of the host fails
  /// here if it is not.
  virtual void gate_updates(Stream& stream, const float* votes, float needed) = 0;
};

} // namespace troupe
