/// The interface of a device: memory, streams, events, kernels on flat buffers, and a compiler for
/// graphs.
///
/// Actors enqueue work on streams and never wait for it. Stream::on_complete reports completion
/// from a thread of the device; its callback may only send a message.
#pragma once

#include "core/choice.hpp"
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
  communication, ///< gathered parameters, gradients in transit
  pinned         ///< page-locked host memory: copies from and to it run concurrently with the
                 ///< device's work
};
template <>
inline constexpr auto choice_words<MemoryKind> = word_list("parameters", "gradients", "optimizer",
                                                           "activations", "workspace", "data",
                                                           "communication", "pinned");
inline constexpr std::size_t memory_kinds = choice_words<MemoryKind>.size();

struct MemoryUse {
  std::array<std::size_t, memory_kinds> current = {}, peak = {}; ///< bytes, by MemoryKind
  std::size_t total = 0, total_peak = 0; ///< bytes; without pinned, which is host memory
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
  /// The time at which it was reached, on the device's clock. Precondition: ready(), and recorded
  /// with timing.
  virtual std::chrono::nanoseconds time() const = 0;
  /// The error of the stream that recorded it. Streams of other devices that wait for the event
  /// then fail too. Precondition: ready().
  virtual Status status() const { return {}; }
};
using EventPtr = std::shared_ptr<Event>;

/// A queue of work that runs in order. Enqueueing never blocks. Only one thread at a time may use a
/// stream. After the first failure, a stream skips the enqueued work; on_complete reports the
/// error.
class Stream {
public:
  using Callback = std::function<void(Status)>;

  virtual ~Stream() = default;
  /// Returns an event that is ready once all work enqueued before is done.
  virtual EventPtr record() = 0;
  /// Makes work enqueued from now on start after the event is ready. Does not block the caller.
  virtual void wait(EventPtr event) = 0;
  /// Calls back once all work enqueued before is done. The callback must not block.
  virtual void on_complete(Callback callback) = 0;
  /// Blocks until all enqueued work is done. For tests, benchmarks and teardown; never in a
  /// handler.
  virtual Status synchronize() = 0;
  /// Names the work that this thread enqueues until the matching end_range, for profilers of the
  /// device. Ranges nest.
  virtual void begin_range(const std::string& /*name*/) {}
  virtual void end_range() {}
};

struct StreamOptions {
  std::string name = "compute";
  int threads = 1;     ///< host devices: threads that the stream's kernels use
  bool urgent = false; ///< CUDA: its kernels start before those waiting on other streams
  /// CUDA: set for a stream that exchanges events with host streams. The host then sees the
  /// stream's events without calling the driver. The stream fails if it waits for the host longer
  /// than this. 0: off.
  std::chrono::milliseconds host_limit{0};
};

/// Peak multiply and add operations in matrix products per second; 0: unknown.
struct PeakOperations {
  double f32 = 0, tf32 = 0, narrow = 0; ///< narrow: f16, bf16
};

struct DeviceInfo {
  bool on_host = true; ///< computes in the host's memory
  int index = 0;
  std::string name;    ///< "host:0 (2 threads, avx512_core_bf16)"
  std::string id = {}; ///< unique among all machines; empty for the host
  bool pinned = false; ///< can allocate MemoryKind::pinned: it has memory of its own
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
  /// Receives a copy of the new parameters as `copied` (f16 or bf16); may be null.
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
  /// Lowers a graph after the passes have run. The device must outlive the executable.
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
  /// Rounds each value to the nearest value of a floating-point type, ties to even; values beyond
  /// its range become infinite.
  virtual void round(Stream& stream, float* values, DType type, std::size_t elements) = 0;
  /// Copy between f32 and a floating-point type. narrow rounds as round does.
  virtual void narrow(Stream& stream, const float* source, void* destination, DType type,
                      std::size_t elements) = 0;
  virtual void widen(Stream& stream, const void* source, DType type, float* destination,
                     std::size_t elements) = 0;
  /// Copy to and from blocks with one scale each; quantized_bytes(type, elements) gives their size.
  /// A block with a value that is not finite comes back as NaN. Addresses are multiples of four.
  virtual void quantize(Stream& stream, const float* source, void* destination, QuantizedType type,
                        std::size_t elements) = 0;
  virtual void dequantize(Stream& stream, const void* source, QuantizedType type,
                          float* destination, std::size_t elements) = 0;
  /// *result += sum of squares, in double, of troupe::clipped_by_value of the gradients; *result is
  /// device memory. `scaler` (device memory, may be null): gradients are unscaled first.
  virtual void add_squared_norm(Stream& stream, const OptimizerArguments& arguments,
                                const float* gradients, std::size_t elements, double* result,
                                const LossScaleState* scaler) = 0;
  /// *factor = troupe::clip_factor(*squared_norm, max_norm); both in device memory.
  virtual void clip_factor(Stream& stream, const double* squared_norm, float max_norm,
                           float* factor) = 0;
  /// `clip` (device memory, may be null): the arguments' clip_factor. `scaler` (device memory, may
  /// be null): the step does nothing if found_inf is set. Otherwise troupe::unscaled adjusts the
  /// arguments, and the step number is the scaler's count.
  virtual void optimizer_step(Stream& stream, const OptimizerArguments& arguments,
                              const OptimizerViews& views, const float* clip,
                              const LossScaleState* scaler) = 0;
  /// *found_inf = 1 if a value is infinite or NaN, else unchanged; in device memory.
  virtual void check_finite(Stream& stream, const float* values, std::size_t elements,
                            float* found_inf) = 0;
  /// Applies troupe::update_loss_scale to a state in device memory.
  virtual void update_loss_scale(Stream& stream, const LossScaleOptions& options,
                                 LossScaleState* state) = 0;
  /// *steps += 1, in device memory: counts the steps whose updates were enqueued before.
  virtual void count_update(Stream& stream, std::int64_t* steps) = 0;
  /// Copies as `copy` does, but is gated as updates are. For state that is needed to repeat the
  /// current step after the stream has failed.
  virtual void keep(Stream& stream, void* destination, const void* source, std::size_t bytes) = 0;
  /// Gates every optimizer_step, update_loss_scale, count_update and keep that is enqueued on this
  /// stream from now on: they change nothing unless *votes (device memory) is `needed` when the
  /// stream reaches them. A host stream fails here if the values differ.
  virtual void gate_updates(Stream& stream, const float* votes, float needed) = 0;
};

} // namespace troupe
