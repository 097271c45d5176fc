/// The graph: a model as data. It has tensors with static shapes, and nodes in an order in which
/// they can run.
///
/// The types live in core/ because devices compile them and nn/ builds and rewrites them (ADR
/// 0001). Passes are pure functions Graph -> Graph in nn/passes/.
#pragma once

#include "core/graph/op.hpp"
#include "core/graph/tensor.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

using TensorId = std::int32_t;
using UnitId = std::int32_t;

enum class Role : std::uint8_t {
  input,      ///< the batch's images: f32, or the compute type (nn/passes/format_input); tokens
  target,     ///< the batch's labels (i32) or regression targets (f32)
  parameter,  ///< learned; fp32 master in the unit's flat buffer
  statistic,  ///< updated by forward, not by gradients: running mean and variance, caches; fp32
  activation, ///< in the arena
  gradient,   ///< of a parameter, fp32 in the unit's flat gradient buffer
  output,     ///< a scalar that the host reads: loss, correct
  loss_scale, ///< f32 scalar in device memory (Executable::bind_loss_scale,
              ///< core/device/loss_scale.hpp)
};

/// Initial values of a parameter or a statistic; nn/initialize draws them.
struct Initial {
  enum class Kind : std::uint8_t {
    none,     ///< neither parameter nor statistic
    constant, ///< `value`
    normal,   ///< mean 0, standard deviation `value`
    uniform,  ///< in [-value, value)
  };
  Kind kind = Kind::none;
  double value = 0;

  static constexpr Initial constant(double value) { return {Kind::constant, value}; }
  static constexpr Initial normal(double deviation) { return {Kind::normal, deviation}; }
  static constexpr Initial uniform(double bound) { return {Kind::uniform, bound}; }
};

struct Tensor {
  std::string name; ///< parameters and statistics: PyTorch's name ("layer1.0.conv1.weight"); unique
  Shape shape;
  DType dtype = DType::f32;
  Role role = Role::activation;
  UnitId unit = 0;
  TensorId of = -1;     ///< role gradient: the parameter
  Initial initial = {}; ///< roles parameter and statistic
};

enum class Phase : std::uint8_t { forward, backward };

struct Node {
  Op op;
  std::vector<TensorId> inputs, outputs;
  Attributes attributes = {};
  Phase phase = Phase::forward;
  UnitId unit = 0;
};

/// Whether the node needs sums over all ranks: a synchronized batch norm, forward or backward.
bool is_synchronized(const Node& node);

/// Nodes are topologically ordered; within a phase, the nodes of a unit are contiguous. Forward
/// runs units 0, 1, ...; backward runs them in reverse order.
struct Graph {
  std::vector<Tensor> tensors;
  std::vector<Node> nodes;
  std::vector<std::string> units; ///< names, by UnitId

  TensorId add_tensor(Tensor tensor);
  Node& add_node(Node node);
  const Tensor& operator[](TensorId id) const { return tensors[static_cast<std::size_t>(id)]; }
  Tensor& operator[](TensorId id) { return tensors[static_cast<std::size_t>(id)]; }
  std::optional<TensorId> find(std::string_view name) const;
  /// All tensors of a role, in order of creation.
  std::vector<TensorId> with_role(Role role) const;
  /// One line per node: for users, logs and tests.
  std::string to_string() const;
};

/// Offsets of activations in one arena: made by nn/passes/plan_memory, obeyed by devices.
struct MemoryPlan {
  static constexpr std::size_t not_in_arena = static_cast<std::size_t>(-1);
  std::vector<std::size_t>
      offsets; ///< bytes, by TensorId; not_in_arena for roles that are stored elsewhere
  std::size_t arena_bytes = 0;
  /// By TensorId: whether the tensor still exists after the last node. Empty: none does.
  std::vector<bool> kept;
};

} // namespace troupe
