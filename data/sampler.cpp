#include "data/sampler.hpp"

#include "core/fail.hpp"
#include "data/keys.hpp"

#include <algorithm>

namespace troupe::data {

SamplerOptions evaluation_sampler(std::int64_t size, std::int64_t batch, int world_size,
                                  std::optional<std::int64_t> limit) {
  return {.size = std::min(size, limit.value_or(size)),
          .global_batch = batch * world_size,
          .seed = 0,
          .shuffle = false,
          .last_batch = LastBatch::pad_with_none,
          .of = size};
}

Result<DistributedSampler> DistributedSampler::create(const SamplerOptions& options) {
  if (options.global_batch < 1)
    return fail(Errc::invalid_input,
                "the global batch is {} samples: data.batch_size must be 1 or more",
                options.global_batch);
  if (options.size < 1)
    return fail(Errc::data, "the data set has no samples");
  const auto whole = options.size / options.global_batch;
  const bool rest = options.size % options.global_batch != 0;
  const auto steps = whole + (rest && options.last_batch != LastBatch::drop ? 1 : 0);
  if (steps == 0)
    return fail(
        Errc::data,
        "the data set has {} samples, fewer than one global batch of {}, and data.drop_last drops "
        "incomplete batches: lower data.batch_size, or set data.drop_last: false",
        options.size, options.global_batch);
  return DistributedSampler{options, steps};
}

Result<std::int64_t> DistributedSampler::slice_size(const Slice& slice) const {
  if (slice.of < 1 || slice.number < 0 || slice.number >= slice.of)
    return fail(Errc::invalid_input, "there is no slice {} of {}", slice.number, slice.of);
  if (options_.global_batch < slice.of)
    return fail(Errc::invalid_input,
                "a global batch of {} samples is too small for {} slices: data.batch_size must be "
                "{} or more",
                options_.global_batch, slice.of, slice.of);
  return options_.global_batch / slice.of +
         (slice.number < options_.global_batch % slice.of ? 1 : 0);
}

Result<std::int64_t> DistributedSampler::largest_slice(const Slice& slice) const {
  TROUPE_TRY(slice_size(slice));
  return slice_size({0, slice.of});
}

std::int64_t DistributedSampler::samples(Position at, const Slice& slice) const {
  const auto count = slice_size(slice).value();
  return options_.last_batch == LastBatch::pad_with_none
             ? std::clamp<std::int64_t>(options_.size - first_place(at, slice), 0, count)
             : count;
}

/// The first slices have one sample more if the batch does not divide evenly.
std::int64_t DistributedSampler::first_place(Position at, const Slice& slice) const {
  const auto even = options_.global_batch / slice.of, rest = options_.global_batch % slice.of;
  return at.step * options_.global_batch + slice.number * even +
         std::min<std::int64_t>(slice.number, rest);
}

Status DistributedSampler::indices(Position at, const Slice& slice,
                                   std::span<std::int64_t> indices) const {
  TROUPE_TRY(const auto count, slice_size(slice));
  TROUPE_TRY(const auto room, largest_slice(slice));
  if (at.epoch < 0 || at.step < 0 || at.step >= steps_)
    return fail(Errc::internal, "there is no step {} in epoch {}: an epoch has {} steps",
                at.step + 1, at.epoch + 1, steps_);
  if (static_cast<std::int64_t>(indices.size()) != room)
    return fail(Errc::internal, "room for {} sample indices, but slices have up to {}",
                indices.size(), room);
  const Permutation order{options_.size, epoch_key(options_.seed, Draw::shuffle, at.epoch)};
  auto place = first_place(at, slice);
  const auto own = indices.first(static_cast<std::size_t>(count));
  for (auto& index : own)
    index = sample_at(order, place++);
  std::ranges::fill(indices.subspan(own.size()), -1);
  return {};
}

std::int64_t DistributedSampler::sample_at(const Permutation& order, std::int64_t place) const {
  if (place >= options_.size) {
    if (options_.last_batch == LastBatch::pad_with_none)
      return -1;
    place %= options_.size;
  }
  if (options_.shuffle)
    return order(place);
  return options_.of > options_.size ? place * options_.of / options_.size : place;
}

} // namespace troupe::data
