/// Description of an op for all code in nn/, as one value. The family headers beside this file
/// define the records. core/graph/ops.def lists an op's inputs and outputs.
#pragma once

#include "nn/cost.hpp"
#include "nn/shape_rules.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

namespace troupe::nn {

/// Autocast's rule for an op: PyTorch's lists, as data.
///
/// Source: PyTorch, "Automatic Mixed Precision", section "Autocast Op Reference". It has one list
/// for CUDA and one for the CPU. They differ in softmax and layer norm, which are f32 on CUDA and
/// follow their input on the CPU. We use CUDA's list on every device, so that all devices run the
/// same graph. tests/golden/autocast.json has both lists as recorded from PyTorch.
enum class AutocastRule : std::uint8_t {
  lower_precision, ///< f16 or bf16, for any input type: products, which are then fast
  fp32,            ///< f32: sums of many small terms, exponentials
  widest,          ///< widest type of the inputs: several tensors that must have one type
  follow,          ///< type of the first input: on none of PyTorch's lists
  given,           ///< types as created: ops that passes create
};

struct Autocast {
  AutocastRule rule;
  std::string_view pytorch = {}; ///< PyTorch's name of the op; empty: it has none
};

/// A set of input positions, below 32.
class InputSet {
public:
  static constexpr InputSet only(std::initializer_list<unsigned> inputs) {
    std::uint32_t bits = 0;
    for (const auto input : inputs)
      bits |= 1u << input;
    return InputSet{bits};
  }
  static constexpr InputSet all_but(std::initializer_list<unsigned> inputs) {
    return InputSet{~only(inputs).bits_};
  }
  static constexpr InputSet all() { return all_but({}); }
  static constexpr InputSet none() { return only({}); }

  constexpr bool contains(std::size_t input) const { return (bits_ >> input & 1u) != 0; }
  bool operator==(const InputSet&) const = default;

private:
  constexpr explicit InputSet(std::uint32_t bits) : bits_{bits} {}

  std::uint32_t bits_;
};

/// Actions that an op's gradient may take. passes/autodiff implements them.
class Propagation {
public:
  /// Adds one node, with the attributes of `forward`, that computes the gradient of one input from
  /// the tensors in `reads`. Adds nothing if that gradient is not needed.
  virtual void propagate(Op op, const Node& forward, std::size_t input,
                         std::vector<TensorId> reads) = 0;
  /// Adds one node that computes the gradients of several inputs, in the order of its outputs,
  /// including those that are not needed.
  virtual void propagate_all(Op op, const Node& forward, const std::vector<std::size_t>& inputs,
                             std::vector<TensorId> reads) = 0;
  /// Uses the gradient of the output as the gradient of an input, without a node. Errors: internal
  /// for a parameter, whose gradient must be a separate tensor.
  virtual Status pass_on(const Node& forward, std::size_t input, TensorId dy) = 0;

protected:
  ~Propagation() = default;
};

/// Adds the gradient of the first input, which `backward` computes only from dy.
template <Op backward>
Status propagate_dy(Propagation& to, const Node& node, TensorId dy) {
  to.propagate(backward, node, 0, {dy});
  return {};
}

/// Adds the gradient of the first input, which `backward` computes from dy and an input of the
/// node.
template <Op backward, std::size_t input>
Status propagate_with_input(Propagation& to, const Node& node, TensorId dy) {
  to.propagate(backward, node, 0, {dy, node.inputs[input]});
  return {};
}

/// Likewise from dy and an output of the node.
template <Op backward, std::size_t output>
Status propagate_with_output(Propagation& to, const Node& node, TensorId dy) {
  to.propagate(backward, node, 0, {dy, node.outputs[output]});
  return {};
}

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

/// Returns the record of a backward op whose other properties are the defaults.
constexpr OpRecord backward_op(Op op, Status (*check)(const Attributes&, Types, Types),
                               std::size_t in_place = 0) {
  return {.op = op, .kind = OpKind::backward, .check = check, .in_place = in_place};
}

/// The clone of ops without side effects.
inline std::optional<Node> same_node(const Node& node) {
  return node;
}

const OpRecord& record_of(Op op);

} // namespace troupe::nn
