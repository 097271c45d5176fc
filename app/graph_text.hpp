/// A typed graph for people and for programs.
#pragma once

#include "core/graph/graph.hpp"

#include <string>

namespace troupe::app {

/// A line a node, in aligned columns: phase, unit, op, name of its first output, the type it
/// computes in, that output's type and shape, what it reads. "f32>bf16": rounded on the way in.
std::string graph_table(const Graph& graph);

/// An array with an object a node: all outputs too, each with name, dtype and shape; inputs also
/// with the type they are read in.
std::string graph_json(const Graph& graph);

} // namespace troupe::app
