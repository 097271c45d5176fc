/// Runs a graph forward and backward on a device, with values that depend on names alone, so that
/// two engines can be compared tensor by tensor.
#pragma once

#include "core/device/executable.hpp"
#include "core/graph/precision.hpp"
#include "tests/devices/test_device.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe::testing {

using Values = std::map<std::string, std::vector<float>>;

struct RunResult {
  Values activations; ///< by name; all of them when there is no memory plan
  Values indices;     ///< of max_pool, where the device stores them as i32
  Values gradients;   ///< canonical layout
  Values parameters;  ///< canonical layout, after the last step
  Values statistics;
  std::vector<StepOutputs> steps;   ///< of each pass
  StepOutputs outputs;              ///< of the last pass
  std::vector<float> raw_gradients; ///< as stored, one unit after the other

  std::vector<float> losses() const;
};

struct RunOptions {
  CompileOptions::Engine engine = CompileOptions::Engine::fastest;
  int threads = 2;
  bool tf32 = false;
  MemoryPlan memory = {};
  const StorageLayout* layout = nullptr;
  float loss_scale = 1;      ///< for graphs that have one
  float noise = 0;           ///< of the images: see batch_values()
  DType stored = DType::f32; ///< of parameters, gradients, statistics and momentum
  /// Null: Device::compile.
  std::function<Result<std::unique_ptr<Executable>>(Device&, const Graph&, const CompileOptions&)>
      compile = {};
};

/// As a job of this precision runs it.
RunOptions options_for(Precision precision, const MemoryPlan& memory = {});

struct Steps {
  int count = 1;
  int batches = 1;    ///< that take turns, each in buffers of its own
  bool whole = false; ///< Executable::run, else unit by unit
  /// After each pass a step of SGD with momentum. Else the parameters stay as they are.
  bool learn = false;
  float lr = 0.003f;
  std::optional<float> loss_scale = {}; ///< instead of the options'
};

/// One executable and its buffers. Requires that everything succeeds (Catch2).
class GraphRun {
public:
  GraphRun(Device& device, const Graph& graph, const RunOptions& options = {});
  ~GraphRun();

  /// Passes from the first values on, in the same buffers each time.
  RunResult operator()(const Steps& steps = {});
  const StorageLayout& layout() const;

private:
  class State;
  std::unique_ptr<State> state_;
};

RunResult run_graph(Device& device, const Graph& graph, const RunOptions& options = {},
                    const Steps& steps = {});

/// The same on the host's interpreter, which is the truth.
RunResult run_reference(const Graph& graph, const RunOptions& options = {},
                        const Steps& steps = {});

} // namespace troupe::testing
