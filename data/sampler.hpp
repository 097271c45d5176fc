/// Which samples a slice has in a step: a pure function of the options, the epoch and the step.
///
/// The order of an epoch is one permutation for the whole job; global batch k is its k-th run of
/// `global_batch` samples, cut into slices; who takes which says Dealing. Slices are equal, or the
/// first ones have one sample more. So the order does not depend on the world size, and nothing but
/// the number of steps done has to be stored to resume.
#pragma once

#include "core/error.hpp"
#include "data/detail/permutation.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace troupe::data {

/// What becomes of the samples that do not fill a global batch at the end of an epoch.
enum class LastBatch : std::uint8_t {
  drop,           ///< they are left out in this epoch
  pad_with_first, ///< filled up with the first of the epoch's order, as PyTorch's
                  ///< DistributedSampler does
  pad_with_none,  ///< filled up with index -1, which has no image and no label: for evaluation
};

struct SamplerOptions {
  std::int64_t size = 0;         ///< samples in the data set
  std::int64_t global_batch = 1; ///< samples in a step of all ranks and micro-batches together
  std::uint64_t seed = 1;
  bool shuffle = true; ///< else in the data set's order
  LastBatch last_batch = LastBatch::drop;
  std::int64_t of = 0; ///< in order: `size` samples of so many, evenly spaced; 0: all
};

/// Sequential, every sample once, or `limit` of them, evenly spaced: evaluation with `batch`
/// samples on each of `world_size` ranks.
SamplerOptions evaluation_sampler(std::int64_t size, std::int64_t batch, int world_size = 1,
                                  std::optional<std::int64_t> limit = {});

/// A part of a global batch that is computed as one.
struct Slice {
  int number = 0;
  int of = 1; ///< slices of the global batch
  bool operator==(const Slice&) const = default;
};

struct Position {
  std::int64_t epoch = 0;
  std::int64_t step = 0; ///< within the epoch
  bool operator==(const Position&) const = default;
};

/// A small value; copies are equal. Const members are thread-safe.
class DistributedSampler {
public:
  /// Errors: Errc::data for an empty set or one that gives no step; Errc::invalid_input for a batch
  /// < 1.
  static Result<DistributedSampler> create(const SamplerOptions& options);

  const SamplerOptions& options() const { return options_; }
  std::int64_t steps_per_epoch() const { return steps_; }
  /// Where a run is after `steps` steps in all: the state to resume from.
  Position position(std::int64_t steps) const { return {steps / steps_, steps % steps_}; }

  /// How many samples a slice has. Errc::invalid_input when the global batch has fewer samples than
  /// slices, or `slice` is none of them.
  Result<std::int64_t> slice_size(const Slice& slice) const;
  /// The same for the largest of all slices: what memory is for. Errors: as slice_size.
  Result<std::int64_t> largest_slice(const Slice& slice) const;
  /// Writes the slice's sample indices; -1 where there is none, and behind the slice's own, up to
  /// the largest slice's size. Errors: as slice_size, a step outside [0, steps_per_epoch()), or
  /// `indices` of another size than largest_slice.
  Status indices(Position at, const Slice& slice, std::span<std::int64_t> indices) const;

private:
  DistributedSampler(const SamplerOptions& options, std::int64_t steps)
      : options_{options}, steps_{steps} {}
  /// The sample in place `place` of the epoch's order, after padding.
  std::int64_t sample_at(const Permutation& order, std::int64_t place) const;

  SamplerOptions options_;
  std::int64_t steps_;
};

} // namespace troupe::data
