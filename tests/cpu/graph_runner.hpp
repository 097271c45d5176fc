/// Runs a graph forward and backward on one engine, with values that depend on names alone, so that
/// two engines can be compared tensor by tensor.
#pragma once

#include "troupe/core/executable.hpp"
#include "troupe/cpu/engines.hpp"
#include "troupe/cpu/host_device.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace troupe::tests {

using Values = std::map<std::string, std::vector<float>>;

struct RunResult {
  Values activations; ///< by name; all of them when there is no memory plan
  Values gradients;   ///< canonical layout
  Values statistics;
  StepOutputs outputs;
  std::vector<float> raw_gradients; ///< as stored, one unit after the other
};

struct RunOptions {
  CompileOptions::Engine engine = CompileOptions::Engine::fastest;
  int threads = 2;
  cpu::Bf16Mode bf16 = cpu::Bf16Mode::automatic;
  MemoryPlan memory = {};
  int steps = 1; ///< each on the same batch
  const StorageLayout* layout = nullptr;
  float loss_scale = 1; ///< for graphs that have one
};

/// Requires that everything succeeds (Catch2).
RunResult run_graph(const Graph& graph, const RunOptions& options);

/// Requires |value - expected| <= 1e-5 + relative * the tensor's largest value: rounding errors of
/// sums are as large as their largest terms.
void require_close(const Values& values, const Values& expected, float relative);

/// Requires that the difference's norm is at most `relative` of the norm of what is expected, or of
/// a quarter of the largest tensor's: some gradients are zero but for rounding. For bf16, where a
/// rounding moves a relu or a maximum here and there.
void require_close_on_average(const Values& values, const Values& expected, float relative);

} // namespace troupe::tests
