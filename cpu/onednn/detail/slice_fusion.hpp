/// Steps that process a tensor slice by slice directly after the step that writes it, while the
/// slice is in the core's cache. Sums for batch norm and additions of gradients then need no extra
/// pass over memory.
#pragma once

#include "cpu/onednn/detail/step.hpp"

#include <optional>
#include <vector>

namespace troupe::cpu {

/// A step whose work, or a part of it, can run directly after the writer of one of its inputs. Its
/// run() then does only the rest.
class SliceConsumer {
public:
  virtual ~SliceConsumer() = default;
  struct Needs {
    std::vector<TensorId> reads;  ///< besides the consumed tensor
    std::vector<TensorId> writes; ///< slices of these are written as well
  };
  /// Returns what consuming this tensor needs; nothing if the step cannot consume it.
  virtual std::optional<Needs> consumes(TensorId tensor) const = 0;
  /// Returns the tensors that run() still reads or writes after all slices have been consumed.
  virtual std::vector<TensorId> remaining() const { return {}; }
  /// Called before the first slice. Must look up only activations: the frame may be another unit's.
  virtual void begin(const Frame& frame, std::size_t workers) = 0;
  /// Elements [begin, end) of the tensor have been written, by this worker's thread.
  virtual void consume(const Frame& frame, std::size_t worker, std::size_t begin,
                       std::size_t end) = 0;
};

/// A step that writes its first output in slices.
class SliceProducer {
public:
  virtual ~SliceProducer() = default;
  virtual bool writes_slices() const = 0;
  void add(SliceConsumer* consumer) { consumers_.push_back(consumer); }

protected:
  void begin_consumers(const Frame& frame, std::size_t workers) const {
    for (auto* consumer : consumers_)
      consumer->begin(frame, workers);
  }
  void hand_on(const Frame& frame, std::size_t worker, std::size_t begin, std::size_t end) const {
    for (auto* consumer : consumers_)
      consumer->consume(frame, worker, begin, end);
  }

private:
  std::vector<SliceConsumer*> consumers_;
};

/// Returns the inputs of a node, then its outputs.
std::vector<TensorId> tensors_of(const Node& node);

/// Fuses producers with their consumers where that changes no result. `steps`: by index of node.
void fuse_slices(const Graph& graph, const std::vector<Place>& places,
                 const std::vector<Step*>& steps);

} // namespace troupe::cpu
