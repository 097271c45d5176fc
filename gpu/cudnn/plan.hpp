/// A finalized execution plan: one cuDNN engine with its settings for one operation graph.
#pragma once

#include "gpu/cudnn/detail/own_tensors.hpp"
#include "gpu/cudnn/lower.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace troupe::gpu::cudnn {

/// cuDNN's notes on an engine's arithmetic.
using NumericalNotes = std::vector<cudnnBackendNumericalNote_t>;

class Plan {
public:
  /// Creates the plan of an engine configuration that heuristics proposed. Errors: unsupported if
  /// the engine rejects the graph after all.
  static Result<Plan> from_configuration(const Target& target,
                                         std::shared_ptr<const LoweredGraph> graph,
                                         Descriptor configuration);
  /// Creates the plan from json() of a plan for the same target and graph. Errors: those that cuDNN
  /// reports for invalid text.
  static Result<Plan> from_json(const Target& target, const OperationGraph& graph,
                                const std::string& json, std::string tag, bool compiled = false);

  /// The engine's workspace, and the graph's scratch tensors.
  std::size_t workspace_bytes() const;
  std::size_t engine_workspace_bytes() const { return engine_workspace_bytes_; }
  /// "eng38 k2=5 k13=1": the engine and its settings, for logs.
  const std::string& tag() const { return tag_; }
  /// Whether its engine is a general one, whose kernel was compiled at run time.
  bool compiled() const { return compiled_; }
  Result<std::string> json(const Target& target) const;

  /// Enqueues the plan on the target's stream. Every bound tensor of the graph needs a binding.
  /// `workspace` has workspace_bytes() of 256-byte aligned device memory; null if that is 0.
  Status execute(const Target& target, std::span<const Binding> bindings, void* workspace) const;
  /// Packs the bindings, the workspace, and what the plan binds itself.
  Result<Descriptor> pack(const Target& target, std::span<const Binding> bindings,
                          void* workspace) const;
  /// As above, with a pack that pack() made. Precondition: the target has a handle.
  Status execute(const Target& target, const Descriptor& packed) const;

private:
  Plan() = default;
  static Result<Plan> finalize(const Target& target, DescriptorBuilder& builder, std::string tag);

  std::shared_ptr<const LoweredGraph> graph_; ///< null for a plan from JSON
  Descriptor configuration_;
  Descriptor plan_;
  OwnTensors own_;
  std::size_t engine_workspace_bytes_ = 0;
  std::string tag_;
  bool compiled_ = false;
};

/// Packs the bindings and the workspace into the descriptor that cuDNN executes a plan with.
Result<Descriptor> variant_pack(const CudnnLibrary& library, std::span<const Binding> bindings,
                                void* workspace);
/// Returns the notes of a configuration's engine.
Result<NumericalNotes> numerical_notes(const Target& target, const Descriptor& configuration);
/// Whether creating the plan compiles a kernel, which takes seconds. False if cuDNN does not report
/// it.
bool compiles_at_run_time(const Target& target, const Descriptor& configuration);
/// Returns the engine and its settings, as Plan::tag(). Errors: device.
Result<std::string> describe_engine(const Target& target, const Descriptor& configuration);

} // namespace troupe::gpu::cudnn
