/// All that nn/ knows of an op, as one value. The families beside this file hold the records; what
/// an op takes and gives stands in core/graph/ops.def.
#pragma once

#include "nn/cost.hpp"
#include "nn/ops/detail/autocast_rule.hpp"
#include "nn/ops/detail/input_set.hpp"
#include "nn/ops/detail/propagation.hpp"
#include "nn/shape_rules.hpp"

#include <optional>

namespace troupe::nn {

enum class OpKind : std::uint8_t {
  forward,  ///< in forward graphs; backward may use it, too
  loss,     ///< likewise, and what autodiff begins at
  backward, ///< made by autodiff and the passes behind it
};

/// A function that an op may lack. It is no pointer that may be null because table.cpp asks which
/// it is: where undefined behaviour is looked for, g++ takes no comparison of a function with null
/// for a constant.
template <class Signature>
using Maybe = std::optional<Signature*>;

/// table.cpp checks that a record has what its kind asks for.
struct OpRecord {
  Op op;
  OpKind kind = OpKind::forward;

  // Shapes and dtypes: one of these two. Their errors say no op: infer_outputs and check_node do.

  /// Types of the outputs, optional and saved ones included.
  Maybe<OutputTypes(const Attributes&, Types inputs)> infer = std::nullopt;
  /// Whether inputs and outputs fit together: backward, and where an output's type is a choice.
  Maybe<Status(const Attributes&, Types inputs, Types outputs)> check = std::nullopt;

  // The types that it reads and computes in.

  /// Of forward ops; backward ones compute in the type of their forward op.
  std::optional<Autocast> autocast = std::nullopt;
  /// Weights: where they are f32, they are read rounded to the first input's type (read_type).
  InputSet rounded = InputSet::none();
  /// It computes in the type of its output, not of its first input (computed_type).
  bool converts = false;

  // Differentiation.

  /// Adds what makes the gradients of a node's inputs; `dy`, the gradient of its first output, is
  /// -1 for a loss. None: autodiff does not take it.
  Maybe<Status(Propagation&, const Node&, TensorId dy)> gradient = std::nullopt;
  /// Inputs that the gradient of the first output has a part for.
  InputSet flows_to = InputSet::all();
  /// It is multiplied by the loss scale, its last input when there is one (passes/scale_loss).
  bool takes_loss_scale = false;

  // Memory and time.

  /// The node that makes the same bits again, and does nothing else (passes/recompute); nothing
  /// where none can. None: it never can.
  Maybe<std::optional<Node>(const Node&)> clone = std::nullopt;
  /// The first output may lie where one of so many first inputs dies: each element is read before
  /// it is written, and not looked at again (passes/plan_memory).
  std::size_t in_place = 0;
  /// One input more, of some nodes, in whose place the first output may lie where it dies. Null:
  /// none.
  std::optional<std::size_t> (*also_in_place)(const Node&) = nullptr;
  NodeCost (*cost)(const Graph&, const Node&) = cost_of_moving;
};

/// For ops that do nothing but write their outputs.
inline std::optional<Node> same_node(const Node& node) {
  return node;
}

} // namespace troupe::nn
