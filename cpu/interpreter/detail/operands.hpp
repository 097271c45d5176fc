/// Access of the interpreter's ops to tensors: as vectors of double, for every dtype.
///
/// Inputs are copied out before anything is written, so that every op may run in place.
#pragma once

#include "core/device/sum_over_ranks.hpp"
#include "core/error.hpp"
#include "core/graph/graph.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace troupe::cpu {

using Values = std::vector<double>;

/// Returns the value as stored in a tensor of this dtype (f32, bf16, f16, i32, u8).
double round_to(DType dtype, double value);

/// Returns the elements of a tensor in memory, by its shape and dtype (f32, bf16, f16, i32, u8).
Values load(const Tensor& tensor, const void* memory);
/// Rounds to the tensor's dtype.
void store(const Tensor& tensor, void* memory, const Values& values);

/// Sums over ranks of a synchronized batch norm. Both are null for a single rank.
struct RankSumsOfNode {
  RankSums* given = nullptr;       ///< if set, the node only writes this rank's sums here
  const RankSums* taken = nullptr; ///< sums of all ranks, used in place of this rank's sums
};

/// The operands of one node.
class Operands {
public:
  /// `memory`: by TensorId; null only for tensors that the node does not use.
  Operands(const Graph& graph, const Node& node, std::span<void* const> memory,
           const RankSumsOfNode& rank_sums)
      : graph_{graph}, node_{node}, memory_{memory}, rank_sums_{rank_sums} {}

  std::size_t inputs() const { return node_.inputs.size(); }
  std::size_t outputs() const { return node_.outputs.size(); }
  const Tensor& input(std::size_t i) const { return graph_[node_.inputs[i]]; }
  const Tensor& output(std::size_t i) const { return graph_[node_.outputs[i]]; }
  const RankSumsOfNode& rank_sums() const { return rank_sums_; }

  Values read(std::size_t i) const;
  /// Reads a weight in the precision of its product: that of input `like`.
  Values read_weight(std::size_t i, std::size_t like) const;
  void write(std::size_t i, const Values& values) const;
  /// Writes the mask of the values after the rounding with which output 0 stores them.
  void write_mask(std::size_t i, const Values& y) const;
  /// For each element, returns 1 if its bit is set, else 0.
  Values read_mask(std::size_t i) const;
  /// Reads x * factor + offset + residual. Factor, offset and residual are inputs `prologue` and
  /// the following ones.
  Values read_scaled(std::size_t i, std::size_t prologue, Residual added) const;
  /// Reads relu of the above, rounded as if it had been stored.
  Values read_normalized(std::size_t i, std::size_t prologue,
                         Residual added = Residual::none) const;
  /// Reads the input of a convolution, with its prologue applied if it has one.
  Values read_convolved(std::size_t i, std::size_t prologue) const;
  /// Reads the position of a sequence's first row from input i; 0 if that input is missing. Errors:
  /// data, unless `rows` from there on fit into `places`.
  Result<std::size_t> read_first(std::size_t i, std::int64_t rows, std::int64_t places) const;
  /// Updates statistics in the memory that they were read from.
  void write_back(std::size_t i, const Values& values) const;

  template <class T>
  const T& attributes() const {
    return std::get<T>(node_.attributes);
  }
  /// For ops whose attributes are optional.
  template <class T>
  const T* attributes_or_null() const {
    return std::get_if<T>(&node_.attributes);
  }

private:
  void* at(TensorId id) const { return memory_[static_cast<std::size_t>(id)]; }

  const Graph& graph_;
  const Node& node_;
  std::span<void* const> memory_;
  RankSumsOfNode rank_sums_;
};

} // namespace troupe::cpu
