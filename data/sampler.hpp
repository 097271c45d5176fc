/// Chooses the samples of each slice in a step: a pure function of the options, the epoch and the
/// step.
///
/// The order of an epoch is one permutation for the whole job. Global batch k is its k-th run of
/// `global_batch` samples, divided into slices; SliceAssignment maps slices to ranks. Slices are
/// equal, or the first ones have one sample more. So the order does not depend on the world size,
/// and the number of completed steps is the only state needed to resume.
#pragma once

#include "core/error.hpp"
#include "data/detail/permutation.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace troupe::data {

/// Handling of the samples that do not fill a global batch at the end of an epoch.
enum class LastBatch : std::uint8_t {
  drop,           ///< leaves them out in this epoch
  pad_with_first, ///< pads with the epoch's first samples, like PyTorch's DistributedSampler
  pad_with_none,  ///< pads with index -1, which has no image and no label: for evaluation
};

struct SamplerOptions {
  std::int64_t size = 0;         ///< samples in the data set
  std::int64_t global_batch = 1; ///< samples in a step, over all ranks and micro-batches
  std::uint64_t seed = 1;
  bool shuffle = true; ///< false: the data set's order
  LastBatch last_batch = LastBatch::drop;
  std::int64_t of = 0; ///< without shuffle: takes `size` evenly spaced samples of this many; 0: all
};

/// Returns the options of evaluation with `batch` samples on each of `world_size` ranks. The order
/// is sequential and contains every sample once, or `limit` evenly spaced ones.
SamplerOptions evaluation_sampler(std::int64_t size, std::int64_t batch, int world_size = 1,
                                  std::optional<std::int64_t> limit = {});

/// A part of a global batch that is computed in one pass.
struct Slice {
  int number = 0;
  int of = 1; ///< number of slices in the global batch
  bool operator==(const Slice&) const = default;
};

struct Position {
  std::int64_t epoch = 0;
  std::int64_t step = 0; ///< within the epoch
  bool operator==(const Position&) const = default;
};

/// A small value type. Const members are thread-safe.
class DistributedSampler {
public:
  /// Errors: Errc::data for an empty set or one without a complete step; Errc::invalid_input for a
  /// batch size below 1.
  static Result<DistributedSampler> create(const SamplerOptions& options);

  const SamplerOptions& options() const { return options_; }
  std::int64_t steps_per_epoch() const { return steps_; }
  /// Returns the position of a run after `steps` steps in total: the state to resume from.
  Position position(std::int64_t steps) const { return {steps / steps_, steps % steps_}; }

  /// Returns the number of samples in a slice. Errors: Errc::invalid_input if the global batch has
  /// fewer samples than slices, or if `slice` is out of range.
  Result<std::int64_t> slice_size(const Slice& slice) const;
  /// Returns the size of the largest slice, which memory is allocated for. Errors: as slice_size.
  Result<std::int64_t> largest_slice(const Slice& slice) const;
  /// Returns the number of samples in a slice of a step without those of index -1. Precondition:
  /// the slice exists.
  std::int64_t samples(Position at, const Slice& slice) const;
  /// Writes the sample indices of a slice. The index is -1 for padding and for the rest of
  /// `indices` after a slice that is smaller than the largest. Errors: as slice_size; a step
  /// outside [0, steps_per_epoch()); `indices` with a size other than largest_slice.
  Status indices(Position at, const Slice& slice, std::span<std::int64_t> indices) const;

private:
  DistributedSampler(const SamplerOptions& options, std::int64_t steps)
      : options_{options}, steps_{steps} {}
  /// Returns the place of a slice's first sample in the epoch's order.
  std::int64_t first_place(Position at, const Slice& slice) const;
  /// Returns the sample at position `place` of the epoch's order, after padding.
  std::int64_t sample_at(const Permutation& order, std::int64_t place) const;

  SamplerOptions options_;
  std::int64_t steps_;
};

} // namespace troupe::data
