/// Sums gradients of a shard over the slices of one step, as they arrive.
#pragma once

#include "core/graph/tensor.hpp"
#include "training/flat_plan.hpp"
#include "training/strategies/async/messages.hpp"

#include <functional>
#include <map>
#include <set>
#include <vector>

namespace troupe::training {

/// Delay compensation: a gradient g that was computed with parameters v and is applied to w counts
/// as g + rate * g * g * (w - v). That is the gradient at w to first order, with g * g for the
/// diagonal of the Hessian (Zheng et al., "Asynchronous Stochastic Gradient Descent with Delay
/// Compensation", ICML 2017, equation 10).
struct Compensation {
  float rate = 0;
  /// Returns the shard's parameters of a version, in host memory that the device can read.
  std::function<const float*(Version)> parameters = {};
};

struct StepSumOptions {
  int slices = 1;
  /// Adds in the order of slices, not of arrival: sums then have the same bits in every run.
  bool in_order = false;
  DType stored = DType::f32; ///< sums are rounded to it
  std::vector<bool> absent;  ///< by bucket: no gradients are sent
  bool compensates = false;
};

class StepSum {
public:
  /// Errors: out_of_memory.
  static Result<StepSum> create(Device& device, const FlatPlan& plan,
                                const StepSumOptions& options);

  /// Starts the sum of another step. Precondition: the previous sum is no longer needed.
  void begin();
  /// Enqueues: adds the message's gradients times `factor`. Overwrites the message's values.
  void add(Stream& stream, const collectives::MessagePtr& message, float factor,
           const Compensation& compensation);
  bool has(std::size_t bucket, int slice) const { return parts_[bucket].here.contains(slice); }
  /// Number of slices in the sum: of a bucket, and of all buckets together.
  int added(std::size_t bucket) const { return parts_[bucket].added; }
  std::int64_t added() const { return all_ - missing_; }
  std::int64_t all() const { return all_; }
  /// Enqueues: returns a bucket's sum so far; zeros if no gradients have arrived.
  const float* so_far(Stream& stream, std::size_t bucket);
  /// Whether all slices of all buckets are in the sum.
  bool is_whole() const { return missing_ == 0; }
  /// Enqueues a copy of the whole shard's sum to `to`.
  void copy_to(Stream& stream, float* to, Version applied, const Compensation& compensation);

private:
  struct Part {
    int added = 0;
    std::set<int> here;                         ///< slices that have arrived
    std::map<int, std::function<void()>> early; ///< by slice: waits for earlier ones
  };
  StepSum(Device& device, const FlatPlan& plan, StepSumOptions options)
      : device_{&device}, plan_{&plan}, options_{std::move(options)} {}
  void add_now(Stream& stream, const collectives::MessagePtr& message, float factor,
               const Compensation& compensation);
  void compensate(Stream& stream, std::size_t place, const float* gradients, std::size_t elements,
                  const float* read);
  void add_compensation(Stream& stream, float* to, float rate, const float* parameters);

  Device* device_;
  const FlatPlan* plan_;
  StepSumOptions options_;
  BufferPtr sum_;
  // For compensation: sums of squares, sums of squares times the parameters read, and scratch for a
  // square.
  BufferPtr squares_, squares_read_, square_;
  std::vector<Part> parts_; ///< by bucket
  std::int64_t all_ = 0, missing_ = 0;
};

} // namespace troupe::training
