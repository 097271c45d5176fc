/// How the interpreter's ops read and write tensors: as vectors of double, whatever the dtype.
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

/// What a value becomes in a tensor of this dtype (f32, bf16, f16, i32, u8).
double round_to(DType dtype, double value);

/// Elements of a tensor in memory, by its shape and dtype (f32, bf16, f16, i32, u8).
Values load(const Tensor& tensor, const void* memory);
/// Rounds to the tensor's dtype.
void store(const Tensor& tensor, void* memory, const Values& values);

/// Sums over ranks, of a synchronized batch norm. Both are null where its rank is alone.
struct RankSumsOfNode {
  RankSums* given = nullptr;       ///< it writes this rank's here, and nothing else
  const RankSums* taken = nullptr; ///< all ranks', that it takes instead of sums of its own
};

/// The operands of one node.
class Operands {
public:
  /// `memory`: by TensorId; null only for tensors the node does not use.
  Operands(const Graph& graph, const Node& node, std::span<void* const> memory,
           const RankSumsOfNode& rank_sums)
      : graph_{graph}, node_{node}, memory_{memory}, rank_sums_{rank_sums} {}

  std::size_t inputs() const { return node_.inputs.size(); }
  std::size_t outputs() const { return node_.outputs.size(); }
  const Tensor& input(std::size_t i) const { return graph_[node_.inputs[i]]; }
  const Tensor& output(std::size_t i) const { return graph_[node_.outputs[i]]; }
  const RankSumsOfNode& rank_sums() const { return rank_sums_; }

  Values read(std::size_t i) const;
  /// A weight in the precision it is multiplied in: that of input `like`.
  Values read_weight(std::size_t i, std::size_t like) const;
  void write(std::size_t i, const Values& values) const;
  /// A mask of these values, as they are when they are stored as output 0.
  void write_mask(std::size_t i, const Values& y) const;
  /// Of each element, 1 where its bit is set.
  Values read_mask(std::size_t i) const;
  /// After relu(x * factor + offset + what is added), rounded as if it had been stored. Factor,
  /// offset and residual are inputs `prologue` and the next.
  Values read_normalized(std::size_t i, std::size_t prologue,
                         Residual added = Residual::none) const;
  /// The input of a convolution: after its prologue, when there is one.
  Values read_convolved(std::size_t i, std::size_t prologue) const;
  /// The place of a sequence's first row, input i; 0 where there is no such input. Errors: data,
  /// where `rows` from there on do not end within so many places.
  Result<std::size_t> read_first(std::size_t i, std::int64_t rows, std::int64_t places) const;
  /// Statistics are updated where they were read.
  void write_back(std::size_t i, const Values& values) const;

  template <class T>
  const T& attributes() const {
    return std::get<T>(node_.attributes);
  }

private:
  void* at(TensorId id) const { return memory_[static_cast<std::size_t>(id)]; }

  const Graph& graph_;
  const Node& node_;
  std::span<void* const> memory_;
  RankSumsOfNode rank_sums_;
};

} // namespace troupe::cpu
