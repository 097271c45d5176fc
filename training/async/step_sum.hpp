/// Gradients of a shard, summed over the slices of one step as they come.
#pragma once

#include "collectives/flat_plan.hpp"
#include "core/graph/tensor.hpp"
#include "training/async/messages.hpp"

#include <functional>
#include <map>
#include <set>
#include <vector>

namespace troupe::training {

/// Delay compensation: a gradient g that was computed with parameters v and is applied to w counts
/// as g + rate * g * g * (w - v), which is what it would be there to first order, with g * g for
/// the diagonal of the Hessian (Zheng et al., "Asynchronous Stochastic Gradient Descent with Delay
/// Compensation", ICML 2017, equation 10).
struct Compensation {
  float rate = 0;
  /// A version's parameters of the shard, in memory of the host that the device can read.
  std::function<const float*(Version)> parameters = {};
};

struct StepSumOptions {
  int slices = 1;
  /// In the order of slices, whichever comes first: then sums have the same bits in every run.
  bool in_order = false;
  DType stored = DType::f32; ///< sums are rounded to it
  std::vector<bool> absent;  ///< by bucket: nothing comes of it
  bool compensates = false;
};

class StepSum {
public:
  /// Errors: out_of_memory.
  static Result<StepSum> create(Device& device, const collectives::FlatPlan& plan,
                                const StepSumOptions& options);

  /// Another step's. Precondition: no sum of the one before is needed.
  void begin();
  /// Enqueues. The mail's values are overwritten: each gradient counts `factor` times.
  void add(Stream& stream, const collectives::MessagePtr& message, float factor,
           const Compensation& compensation);
  bool has(std::size_t bucket, int slice) const { return parts_[bucket].here.contains(slice); }
  /// How many slices of a bucket are in the sum, and of all buckets together.
  int added(std::size_t bucket) const { return parts_[bucket].added; }
  std::int64_t added() const { return all_ - missing_; }
  std::int64_t all() const { return all_; }
  /// Enqueues: a bucket's sum as it is; zeros, where nothing has come.
  const float* so_far(Stream& stream, std::size_t bucket);
  /// Whether all slices of all buckets are there.
  bool is_whole() const { return missing_ == 0; }
  /// Enqueues a copy to `to`, of the whole shard.
  void copy_to(Stream& stream, float* to, Version applied, const Compensation& compensation);

private:
  struct Part {
    int added = 0;
    std::set<int> here;                         ///< slices that have come
    std::map<int, std::function<void()>> early; ///< by slice: what waits for its turn
  };
  StepSum(Device& device, const collectives::FlatPlan& plan, StepSumOptions options)
      : device_{&device}, plan_{&plan}, options_{std::move(options)} {}
  void add_now(Stream& stream, const collectives::MessagePtr& message, float factor,
               const Compensation& compensation);
  void compensate(Stream& stream, std::size_t place, const float* gradients, std::size_t elements,
                  const float* read);
  void add_compensation(Stream& stream, float* to, float rate, const float* parameters);

  Device* device_;
  const collectives::FlatPlan* plan_;
  StepSumOptions options_;
  BufferPtr sum_;
  // Of compensation: sums of squares, and of squares times what was read; room for a square.
  BufferPtr squares_, squares_read_, square_;
  std::vector<Part> parts_; ///< by bucket
  std::int64_t all_ = 0, missing_ = 0;
};

} // namespace troupe::training
