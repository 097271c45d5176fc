/// A finalized execution plan: one engine of cuDNN, with its settings, for one operation graph.
#pragma once

#include "gpu/cudnn/lower.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace troupe::gpu::cudnn {

/// Where a tensor of the graph lies: device memory, 16-byte aligned; for by-value tensors a host
/// pointer.
struct Binding {
  Uid uid;
  void* data;
};

/// What cuDNN says about an engine's arithmetic.
struct NumericalNotes {
  bool tensor_core = false;           ///< with fp32 tensors: TF32
  bool down_convert_inputs = false;   ///< rounds its inputs to a narrower type
  bool reduced_precision = false;     ///< accumulates in a narrower type
  bool nondeterministic = false;      ///< runs may differ in the last bits
  bool winograd = false, fft = false; ///< transforms: other rounding than the direct sum
};

class Plan {
public:
  /// From an engine configuration that heuristics proposed. Errors: unsupported when the engine
  /// does not take the graph after all.
  static Result<Plan> from_configuration(const Target& target,
                                         std::shared_ptr<const LoweredGraph> graph,
                                         Descriptor configuration);
  /// From json() of a plan for the same target. Errors: whatever cuDNN says of foreign text.
  static Result<Plan> from_json(const Target& target, const std::string& json, std::string tag,
                                bool compiled = false);

  std::size_t workspace_bytes() const { return workspace_bytes_; }
  /// "eng38 k2=5 k13=1": the engine and its settings, for logs and people.
  const std::string& tag() const { return tag_; }
  /// Whether its engine is a general one whose kernel was compiled at run time.
  bool compiled() const { return compiled_; }
  Result<std::string> json(const Target& target) const;

  /// Enqueues on the target's stream. Every tensor of the graph that is not virtual needs its
  /// binding; `workspace`: workspace_bytes() of device memory, null where that is 0.
  Status execute(const Target& target, std::span<const Binding> bindings, void* workspace) const;
  /// The same on what variant_pack() made of them; for a target with a handle.
  Status execute(const Target& target, const Descriptor& pack) const;

private:
  Plan() = default;

  std::shared_ptr<const LoweredGraph> graph_; ///< null for a plan from JSON
  Descriptor configuration_;
  Descriptor plan_;
  std::size_t workspace_bytes_ = 0;
  std::string tag_;
  bool compiled_ = false;
};

/// What a plan is run on, as cuDNN wants it said.
Result<Descriptor> variant_pack(const CudnnLibrary& library, std::span<const Binding> bindings,
                                void* workspace);
/// Notes of a configuration's engine.
Result<NumericalNotes> numerical_notes(const Target& target, const Descriptor& configuration);
/// Whether making the plan compiles a kernel, which takes seconds. False where cuDNN does not say.
bool compiles_at_run_time(const Target& target, const Descriptor& configuration);
/// The engine and its settings, as Plan::tag(). Errors: device.
Result<std::string> describe_engine(const Target& target, const Descriptor& configuration);

} // namespace troupe::gpu::cudnn
