/// The tensors of a compiled graph that are accessed by name from outside: those a batch fills, and
/// those the host reads. Every lowering uses it.
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
  /// Errors: unsupported when the graph has more than most_batch_tensors inputs and targets or more
  /// than most_outputs outputs.
  static Result<GraphPorts> create(const Graph& graph);

  /// The tensors that a batch must have, without data.
  const BatchView& batch() const { return batch_; }
  /// Errors: invalid_input when a tensor is missing, unknown, or has another type or shape.
  Status bind(const BatchView& batch);
  /// The addresses of the bound batch.
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

/// Returns the activation or output called `name`, of which `room` elements are to be read. Errors:
/// invalid_input when the name is unknown, the number of elements differs, or the tensor's memory
/// is reused before the end (MemoryPlan::kept).
Result<TensorId> readable_tensor(const Graph& graph, const MemoryPlan& plan, std::string_view name,
                                 std::size_t room);

} // namespace troupe
