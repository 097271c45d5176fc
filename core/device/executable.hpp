/// A graph lowered for one device, and how it stores parameters.
#pragma once

#include "core/device/batch.hpp"
#include "core/device/blocked_layout.hpp"
#include "core/device/device.hpp"
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

/// How a device lays out one parameter inside its unit's flat buffer. Immutable, thread-safe.
/// Element-wise work (optimizers, reductions) does not care; files and people see the canonical
/// layout: row-major in the tensor's shape. A layout may pad; padding is zero and stays zero.
class ParameterCodec {
public:
  virtual ~ParameterCodec() = default;
  virtual void encode(std::span<const float> canonical, std::span<float> stored) const = 0;
  virtual void decode(std::span<const float> stored, std::span<float> canonical) const = 0;
  /// The same as data, for readers that lack the device.
  virtual BlockedLayout layout() const = 0;
};

/// The place of one parameter or statistic in flat storage.
struct Slot {
  std::string name;
  Shape shape;
  UnitId unit = 0;
  std::size_t offset =
      0; ///< in fp32 elements, inside the unit's flat buffer (statistics: inside the one buffer)
  std::size_t elements = 0;                    ///< stored elements, >= shape.elements()
  std::shared_ptr<const ParameterCodec> codec; ///< null: stored as it is
};

/// Storage of all parameters of an executable: one flat fp32 buffer per unit; one for all
/// statistics.
struct StorageLayout {
  std::vector<Slot> parameters; ///< in graph order; ascending (unit, offset)
  std::vector<Slot> statistics;
  std::vector<std::size_t> unit_elements; ///< by UnitId; may be 0
  std::size_t statistic_elements = 0;
  std::vector<std::string> unit_names;
};

struct CompileOptions {
  /// Chosen by name so that tests can run everything on the truth.
  enum class Engine : std::uint8_t { fastest, interpreter };
  Engine engine = Engine::fastest;
  bool deterministic = false;
  bool tf32 = false; ///< CUDA: products of f32 may round their operands to TF32
  /// Threads of the stream it will run on: libraries choose their blocking by it.
  int threads = 1;
  MemoryPlan memory;
  /// Store parameters as another executable of the same model does (evaluation beside training).
  const StorageLayout* layout = nullptr;
};

/// A graph has no more outputs.
inline constexpr std::size_t most_outputs = 8;

/// What the host reads of a micro-batch, written late by read_outputs. Those of a model with
/// labels: "loss", the mean over the rows that count, or as LossAttributes::rows says;
/// "loss.counted", how many rows that are (not padding); "correct", how many of them were
/// classified right.
struct StepOutputs {
  std::shared_ptr<const std::vector<std::string>> names; ///< null: nothing has been read
  std::array<float, most_outputs> values = {};

  /// Empty where the graph has no such output.
  std::optional<float> find(std::string_view name) const;
  /// NaN where it has none.
  float operator[](std::string_view name) const;
};

/// What an executable reads instead of all its parameters: each of them in fewer bits, one unit
/// behind the other, in memory that is the executable's.
struct ParameterCopies {
  std::byte* data = nullptr;
  DType type = DType::f16;
};

/// Forward and backward of a model, unit by unit. Not thread-safe: one actor owns it. All calls
/// only enqueue; everything happens in stream order.
class Executable {
public:
  virtual ~Executable() = default;
  virtual const StorageLayout& layout() const = 0;
  /// Flat buffers, owned by the caller, that must stay valid while work is enqueued. `gradients`
  /// may be null for a graph without backward.
  virtual void bind(UnitId unit, float* parameters, float* gradients) = 0;
  virtual void bind_statistics(float* statistics) = 0;
  /// What gradients are multiplied with, a value in device memory that is read in each pass.
  /// For graphs that have a loss_scale (nn/passes/scale_loss); others ignore it.
  virtual void bind_loss_scale(const float* scale) = 0;
  /// For graphs with synchronized batch norms; others never call it.
  virtual void bind_sum_over_ranks(SumOverRanks sum) = 0;
  /// Parameters of the unit have changed: derived copies (blocked, bf16) are made again.
  virtual void refresh(Stream& stream, UnitId unit) = 0;
  /// Likewise of all units, which may take less than one after the other.
  virtual void refresh_all(Stream& stream);
  /// Where an optimizer may leave new parameters so that none of them has to be refreshed. Null:
  /// what is derived is of another kind, or not of all.
  virtual ParameterCopies copies() const { return {}; }
  /// What a batch must have: the graph's inputs and targets, without data.
  virtual const BatchView& batch() const = 0;
  /// The micro-batch that forward calls enqueued from now on read, in this device's memory. It must
  /// stay valid until the micro-batch's last backward (or forward) is done. Errors: invalid_input,
  /// when it lacks a tensor of batch().
  virtual Status set_batch(const BatchView& batch) = 0;
  virtual void forward(Stream& stream, UnitId unit) = 0;
  /// Writes (does not add to) the unit's gradients.
  virtual void backward(Stream& stream, UnitId unit) = 0;
  /// Forward and backward of all units, for a caller that has nothing to do between them. A device
  /// may run them as one (a CUDA graph).
  virtual void run(Stream& stream);
  /// Copies the outputs of the last pass to host memory, which must stay valid until done.
  virtual void read_outputs(Stream& stream, StepOutputs* host) = 0;
  /// Copies an activation or output by name to host memory as f32 (tests, predict). Errors: unknown
  /// name, or the memory plan did not keep it.
  virtual Status read_tensor(Stream& stream, std::string_view name, std::span<float> host) = 0;
};

} // namespace troupe
