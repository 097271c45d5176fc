/// Compares a pass of a model on the host device with the interpreter's.
#pragma once

#include "cpu/host_device.hpp"
#include "nn/compile.hpp"
#include "tests/devices/compare.hpp"

namespace troupe::testing {

/// Requires that the model gives the interpreter's results on a host device with this many threads.
inline void require_pass_of_interpreter(const nn::PreparedModel& model, Precision precision,
                                        int threads) {
  auto options = options_for(precision, model.memory);
  options.threads = threads;
  const auto device = cpu::make_host_device(0, threads);
  const auto reference = run_reference(model.graph, options);
  require_same_pass(run_graph(*device, model.graph, options), reference, precision);
}

} // namespace troupe::testing
