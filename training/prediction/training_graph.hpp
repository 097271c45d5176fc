/// The graph of a worker's step, without a job.
#pragma once

#include "core/config/forward.hpp"
#include "core/error.hpp"
#include "core/graph/graph.hpp"

namespace troupe::training {

/// Returns the graph of a micro-batch, forward and backward, after all passes, as compile_job
/// compiles it for the first worker's device. Opens no data. Errors: unsupported if the machine
/// lacks the device; as nn::prepare_model.
Result<Graph> training_graph(const Config& config);

} // namespace troupe::training
