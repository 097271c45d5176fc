/// Steps that work on a tensor right behind the step that writes it: slice by slice, while the
/// slice is in the core's cache. Sums for batch norm and additions of gradients cost no pass over
/// memory of their own then.
#pragma once

#include "step.hpp"

#include <optional>
#include <vector>

namespace troupe::cpu {

/// A step whose work, or a part of it, can be done behind the writer of one of its inputs. Its
/// run() then does only what is left.
class Follower {
public:
  virtual ~Follower() = default;
  struct Needs {
    std::vector<TensorId> reads;  ///< besides the tensor that is followed
    std::vector<TensorId> writes; ///< slices of these are written along
  };
  /// What following this tensor takes; nothing when that cannot be done.
  virtual std::optional<Needs> follows(TensorId tensor) const = 0;
  /// Before the first slice. Only activations may be looked up: the frame may be another unit's.
  virtual void begin(const Frame& frame, std::size_t workers) = 0;
  /// Elements [begin, end) of the tensor have been written, by this worker's thread.
  virtual void follow(const Frame& frame, std::size_t worker, std::size_t begin,
                      std::size_t end) = 0;
};

/// A step that writes its first output in slices.
class Leader {
public:
  virtual ~Leader() = default;
  virtual bool writes_slices() const = 0;
  void add(Follower* follower) { followers_.push_back(follower); }

protected:
  void begin_followers(const Frame& frame, std::size_t workers) const {
    for (auto* follower : followers_)
      follower->begin(frame, workers);
  }
  void lead(const Frame& frame, std::size_t worker, std::size_t begin, std::size_t end) const {
    for (auto* follower : followers_)
      follower->follow(frame, worker, begin, end);
  }

private:
  std::vector<Follower*> followers_;
};

/// Lets steps follow each other wherever nobody can tell the difference. `steps` by index of node.
void connect_followers(const Graph& graph, const std::vector<Place>& places,
                       const std::vector<Step*>& steps);

} // namespace troupe::cpu
