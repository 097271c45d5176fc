/// A graph lowered for one device, and its storage of parameters.
#pragma once

#include "core/config/devices.hpp"
#include "core/device/batch.hpp"
#include "core/device/blocked_layout.hpp"
#include "core/device/device.hpp"
#include "core/device/pass_times.hpp"
#include "core/device/sum_over_ranks.hpp"
#include "core/graph/graph.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The layout of one parameter inside its unit's flat buffer. Immutable, thread-safe. Element-wise
/// work (optimizers, reductions) does not depend on it. Files and users see the canonical layout:
/// row-major in the tensor's shape. A layout may pad; padding is zero and stays zero.
class ParameterCodec {
public:
  virtual ~ParameterCodec() = default;
  virtual void encode(std::span<const float> canonical, std::span<float> stored) const = 0;
  virtual void decode(std::span<const float> stored, std::span<float> canonical) const = 0;
  /// The same layout as data, for readers without the device.
  virtual BlockedLayout layout() const = 0;
};

/// The range of one parameter or statistic in flat storage.
struct Slot {
  std::string name;
  Shape shape;
  UnitId unit = 0;
  std::size_t offset =
      0; ///< in fp32 elements, inside the unit's flat buffer (statistics: inside the one buffer)
  std::size_t elements = 0;                    ///< stored elements, >= shape.elements()
  std::shared_ptr<const ParameterCodec> codec; ///< null: stored in canonical layout
};

/// Storage of all parameters of an executable: one flat fp32 buffer per unit, and one for all
/// statistics.
struct StorageLayout {
  std::vector<Slot> parameters; ///< in graph order; ascending (unit, offset)
  std::vector<Slot> statistics;
  std::vector<std::size_t> unit_elements; ///< by UnitId; may be 0
  std::size_t statistic_elements = 0;
  std::vector<std::string> unit_names;
};

struct CompileOptions {
  Engine engine = Engine::fastest;
  bool deterministic = false;
  bool tf32 = false;           ///< CUDA: products of f32 may round their operands to TF32
  bool fused_attention = true; ///< CUDA: cuDNN computes attention where it has an engine
  /// Threads of the stream that it will run on: libraries choose their blocking by it.
  int threads = 1;
  /// CUDA: most bytes of the logits that the loss of a language model computes at a time, unless
  /// 128 rows take more. Each chunk of logits reads the weight, and reads and writes all of its
  /// gradient.
  std::size_t logit_bytes = std::size_t{1} << 30;
  /// CUDA: passes may add to the gradients. Takes memory for the gradients of the largest unit.
  bool adds_gradients = false;
  MemoryPlan memory;
  /// Store parameters as another executable of the same model does (evaluation during training).
  const StorageLayout* layout = nullptr;
};

/// Most outputs that a graph may have.
inline constexpr std::size_t most_outputs = 8;

/// Outputs of a micro-batch for the host, which read_outputs fills asynchronously. A model with
/// labels has "loss", the mean over the rows that count, or as LossAttributes::rows says;
/// "loss.counted", the number of those rows (padding does not count); "correct", how many of them
/// were classified correctly.
struct StepOutputs {
  std::shared_ptr<const std::vector<std::string>> names; ///< null: nothing has been read
  std::array<float, most_outputs> values = {};

  /// Returns nullopt if the graph has no such output.
  std::optional<float> find(std::string_view name) const;
  /// Returns NaN if the graph has no such output.
  float operator[](std::string_view name) const;
};

/// Copies of all parameters in fewer bits, which an executable reads instead of the parameters.
/// Units follow each other without gaps, in memory that the executable owns.
struct ParameterCopies {
  std::byte* data = nullptr;
  DType type = DType::f16;
};

/// How a backward pass writes to the bound gradients.
enum class GradientMode : std::uint8_t { overwrite, add };

/// Forward and backward of a model, unit by unit. Not thread-safe: one actor owns it. Calls only
/// enqueue; the work runs in stream order.
class Executable {
public:
  virtual ~Executable() = default;
  virtual const StorageLayout& layout() const = 0;
  /// Binds flat buffers that the caller owns. They must stay valid while work is enqueued.
  /// `gradients` may be null for a graph without backward.
  virtual void bind(UnitId unit, float* parameters, float* gradients) = 0;
  virtual void bind_statistics(float* statistics) = 0;
  /// Binds the factor of all gradients, a value in device memory that each pass reads. For graphs
  /// with a loss_scale (nn/passes/annotate); others ignore it.
  virtual void bind_loss_scale(const float* scale) = 0;
  /// For graphs with synchronized batch norms; others never call it.
  virtual void bind_sum_over_ranks(SumOverRanks sum) = 0;
  /// Renews the derived copies (blocked, bf16) of a unit whose parameters have changed.
  virtual void refresh(Stream& stream, UnitId unit) = 0;
  /// Refreshes all units, which may be faster than one by one.
  virtual void refresh_all(Stream& stream);
  /// Returns memory into which an optimizer may write the new parameters, so that none has to be
  /// refreshed. Null if the derived copies are of another kind or do not cover all parameters.
  virtual ParameterCopies copies() const { return {}; }
  /// The tensors that a batch must have: the graph's inputs and targets, without data.
  virtual const BatchView& batch() const = 0;
  /// Sets the micro-batch, in this device's memory, that forward calls enqueued from now on read.
  /// It must stay valid until the micro-batch's last backward (or forward) is done. Errors:
  /// invalid_input when it lacks a tensor of batch().
  virtual Status set_batch(const BatchView& batch) = 0;
  virtual void forward(Stream& stream, UnitId unit) = 0;
  /// Whether passes can add to the gradients (CompileOptions::adds_gradients).
  virtual bool adds_gradients() const { return false; }
  /// Sets how backward calls enqueued from now on write gradients; initially they overwrite them.
  /// GradientMode::add needs adds_gradients().
  virtual void set_gradient_mode(GradientMode) {}
  /// Writes the unit's gradients, or adds to them.
  virtual void backward(Stream& stream, UnitId unit) = 0;
  /// Forward and backward of all units, for callers that do nothing between them. A device may run
  /// them as one (a CUDA graph).
  virtual void run(Stream& stream);
  /// Runs a pass, step by step, and returns the steps' times. Blocks. Errors: those of the stream;
  /// unsupported for an engine that does not time its steps.
  virtual Result<PassTimes> time_steps(Stream& stream);
  /// Copies the outputs of the last pass to host memory, which must stay valid until the copy is
  /// done.
  virtual void read_outputs(Stream& stream, StepOutputs* host) = 0;
  /// Copies an activation or output by name to host memory as f32 (tests, predict). Errors: unknown
  /// name, or the memory plan did not keep the tensor.
  virtual Status read_tensor(Stream& stream, std::string_view name, std::span<float> host) = 0;
};

} // namespace troupe
