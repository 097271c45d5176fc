/// The tensors of a compiled graph that are met by name from outside: what a batch fills, what the
/// host reads. Every lowering shares it.
#pragma once

#include "core/device/batch.hpp"
#include "core/error.hpp"
#include "core/graph/graph.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

class GraphPorts {
public:
  /// Errors: unsupported, for a graph with more inputs and targets or more outputs than there is
  /// room for.
  static Result<GraphPorts> create(const Graph& graph);

  /// What a batch must have; no data yet.
  const BatchView& batch() const { return batch_; }
  /// Errors: invalid_input, for a tensor that is missing, unknown, or of another type or shape.
  Status bind(const BatchView& batch);
  /// The addresses of the batch that is bound.
  const BatchAddresses& addresses() const { return addresses_; }

  /// Scalars of type f32, in the order of creation, and their names.
  const std::vector<TensorId>& outputs() const { return outputs_; }
  const std::shared_ptr<const std::vector<std::string>>& output_names() const {
    return output_names_;
  }

private:
  BatchView batch_;
  BatchAddresses addresses_ = {};
  std::vector<TensorId> outputs_;
  std::shared_ptr<const std::vector<std::string>> output_names_;
};

/// An input's or target's place among the addresses. -1: of no batch.
int batch_index(const Graph& graph, TensorId id);

/// The activation or output of a name, of which `room` elements are to be read. Errors:
/// invalid_input for an unknown name, another number of elements, and a tensor whose memory others
/// have by the end (MemoryPlan::kept).
Result<TensorId> readable_tensor(const Graph& graph, const MemoryPlan& plan, std::string_view name,
                                 std::size_t room);

} // namespace troupe
