#include "tests/gpu/engine_notes.hpp"

#include <catch2/catch_test_macros.hpp>

namespace troupe::testing {

using namespace gpu::cudnn;

namespace {

/// Returns the heuristic's configurations; empty when a mode has no engine for the graph.
std::vector<Descriptor> configurations(const Target& target, const LoweredGraph& graph,
                                       cudnnBackendHeurMode_t mode) {
  DescriptorBuilder builder(target.library(), CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, "heuristics");
  builder.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.graph)
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
  target.set_properties(builder, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
  const auto heuristics = builder.finalize();
  if (!heuristics)
    return {};
  auto found = descriptor_attribute(target.library(), *heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                    CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  return found ? std::move(*found) : std::vector<Descriptor>{};
}

} // namespace

std::map<std::string, NumericalNotes> proposed_notes(const Target& target,
                                                     const OperationGraph& graph) {
  const auto lowered = lower(target, graph);
  REQUIRE(lowered);
  std::map<std::string, NumericalNotes> all;
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK})
    for (const auto& configuration : configurations(target, *lowered, mode)) {
      const auto tag = describe_engine(target, configuration);
      const auto notes = numerical_notes(target, configuration);
      REQUIRE(tag);
      REQUIRE(notes);
      all[*tag] = *notes;
    }
  return all;
}

} // namespace troupe::testing
