/// Runs a graph forward and backward on a device, with values that depend only on names, so that
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
  Values activations; ///< by name; complete only without a memory plan
  Values indices;     ///< indices of max_pool, when the device stores them as i32
  Values gradients;   ///< in canonical layout
  Values parameters;  ///< in canonical layout, after the last step
  Values statistics;
  std::vector<StepOutputs> steps;   ///< one per pass
  StepOutputs outputs;              ///< outputs of the last pass
  std::vector<StepTime> times;      ///< of the last pass, with Steps::timed
  std::vector<float> raw_gradients; ///< in the storage layout, one unit after the other

  std::vector<float> losses() const;
};

struct RunOptions {
  Engine engine = Engine::fastest;
  int threads = 2;
  bool tf32 = false;
  MemoryPlan memory = {};
  const StorageLayout* layout = nullptr;
  float loss_scale = 1;      ///< for graphs that have a loss scale
  float noise = 0;           ///< noise of the images: see batch_values()
  DType stored = DType::f32; ///< type of parameters, gradients, statistics and momentum
  /// Compiles the graph. Null: Device::compile.
  std::function<Result<std::unique_ptr<Executable>>(Device&, const Graph&, const CompileOptions&)>
      compile = {};
};

/// Returns the options that a job of this precision uses.
RunOptions options_for(Precision precision, const MemoryPlan& memory = {});

struct Steps {
  int count = 1;
  int batches = 1;    ///< batches used in turn, each in its own buffers
  bool adds = false;  ///< later passes add to the gradients of the first
  bool whole = false; ///< uses Executable::run instead of unit-by-unit calls
  bool timed = false; ///< uses Executable::time_steps instead
  /// Makes a step of SGD with momentum after each pass; otherwise the parameters stay as they are.
  bool learn = false;
  float lr = 0.003f;
  std::optional<float> loss_scale = {}; ///< replaces the loss scale of the options
};

/// One executable and its buffers. Requires that everything succeeds (Catch2).
class GraphRun {
public:
  GraphRun(Device& device, const Graph& graph, const RunOptions& options = {});
  ~GraphRun();

  /// Runs passes that start from the initial values; every call uses the same buffers.
  RunResult operator()(const Steps& steps = {});
  const StorageLayout& layout() const;

private:
  class State;
  std::unique_ptr<State> state_;
};

RunResult run_graph(Device& device, const Graph& graph, const RunOptions& options = {},
                    const Steps& steps = {});

/// Runs the same steps on the host's interpreter, which is the reference.
RunResult run_reference(const Graph& graph, const RunOptions& options = {},
                        const Steps& steps = {});

} // namespace troupe::testing
