/// Description of an op for all code in nn/, as one value. The family headers beside this file
/// define the records. core/graph/ops.def lists an op's inputs and outputs.
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
  loss,     ///< in forward graphs; autodiff begins at it
  backward, ///< created by autodiff and the passes after it
};

/// A function that an op may lack. It is not a nullable pointer, because table.cpp compares it in
/// constant expressions: with the undefined-behaviour sanitizer, g++ does not accept comparing a
/// function with null as a constant.
template <class Signature>
using Maybe = std::optional<Signature*>;

/// The record of an op; table.cpp checks that it has the members that its kind requires.
struct OpRecord {
  Op op;
  OpKind kind = OpKind::forward;

  // Shapes and dtypes: one of these two. Their errors do not name the op; infer_outputs and
  // check_node add its name.

  /// Returns the types of the outputs, including optional and saved ones.
  Maybe<OutputTypes(const Attributes&, Types inputs)> infer = std::nullopt;
  /// Checks that inputs and outputs match. For backward ops, and for ops whose output type is a
  /// choice.
  Maybe<Status(const Attributes&, Types inputs, Types outputs)> check = std::nullopt;

  // Types that it reads and computes in.

  /// Only for forward ops; backward ops compute in the type of their forward op.
  std::optional<Autocast> autocast = std::nullopt;
  /// Weights. If they are f32, they are read rounded to the first input's type (read_type).
  InputSet rounded = InputSet::none();
  /// Computes in the type of its output, not of its first input (computed_type).
  bool converts = false;

  // Differentiation.

  /// Adds the nodes that compute the gradients of a node's inputs. `dy`, the gradient of its first
  /// output, is -1 for a loss. Empty: autodiff does not support the op.
  Maybe<Status(Propagation&, const Node&, TensorId dy)> gradient = std::nullopt;
  /// Inputs that the gradient of the first output flows to.
  InputSet flows_to = InputSet::all();
  /// Its result is multiplied by the loss scale, its last input if present (passes/annotate).
  bool takes_loss_scale = false;

  // Memory and time.

  /// Returns a node that computes the same bits again without side effects (passes/recompute);
  /// nothing if this node has none. Empty: no node of this op has one.
  Maybe<std::optional<Node>(const Node&)> clone = std::nullopt;
  /// The first output may overwrite one of this many first inputs if it is not used afterwards:
  /// each element is read before it is written, and is not read again (passes/plan_memory).
  std::size_t in_place = 0;
  /// Returns one more input that the first output may overwrite, for some nodes. Null: there is
  /// none.
  std::optional<std::size_t> (*also_in_place)(const Node&) = nullptr;
  NodeCost (*cost)(const Graph&, const Node&) = cost_of_moving;
};

/// The clone of ops without side effects.
inline std::optional<Node> same_node(const Node& node) {
  return node;
}

} // namespace troupe::nn
