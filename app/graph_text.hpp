/// Prints a typed graph as a table or as JSON.
#pragma once

#include "core/graph/graph.hpp"

#include <string>

namespace troupe::app {

/// One line for each node, in aligned columns: phase, unit, op, name of its first output, the type
/// it computes in, that output's type and shape, its inputs. "f32>bf16": rounded when read.
std::string graph_table(const Graph& graph);

/// An array with one object for each node, with all inputs and outputs: each with name, dtype and
/// shape, inputs also with the type they are read in.
std::string graph_json(const Graph& graph);

} // namespace troupe::app
