// What keeps the copy of a rank's shard at its buddy, and what a rank does that others are a step
// ahead of.
#include "core/fail.hpp"
#include "engine/exchange/exchange.hpp"

namespace troupe::engine {

using collectives::Bucket;
using collectives::Values;
using metrics::CollectiveKind;

namespace {

void copy_elements(Device& device, Stream& stream, const HostPiece& piece, const float* gradients) {
  device.copy(stream, const_cast<float*>(piece.host.gradients), gradients,
              piece.host.elements * sizeof(float));
}

} // namespace

/// In which no bit of a reduced gradient is lost: sums that travelled in a narrower type are values
/// of it, unless several of them were added here, or rounded to another one.
DType Exchange::buddys_type() const {
  const bool adds = state().sums_shards() && setup_.dealing.passes() > 1;
  const auto stored = state().stored(), reduced = strategy().reduced;
  const bool rounds = stored != DType::f32 && stored != reduced;
  return adds || rounds ? DType::f32 : reduced;
}

void Exchange::send_to_buddy(const Bucket& bucket, const float* gradients, Collectives& done) {
  auto& world = *replica().world;
  auto& device = replica().device();
  const auto elements = plan().shard_elements(bucket);
  const auto type = buddys_type();
  float* const copy = state().buddy()->gradients(bucket);
  Values mine{const_cast<float*>(gradients), elements, type};
  void* received = copy;
  if (type != DType::f32) {
    mine.data = state().wire();
    received = state().wire() + mine.bytes();
    device.narrow(stream(), gradients, mine.data, type, elements);
  }
  collective(world, CollectiveKind::buddy, mine.bytes(), done,
             [&] { world.shift(stream(), mine, received, setup_.buddy_distance); });
  if (type != DType::f32)
    device.widen(stream(), received, type, copy, elements);
}

void Exchange::apply_to_copy(const OptimizerArguments& arguments) {
  const auto& buddy = *state().buddy();
  for (const auto& piece : buddy.kept_pieces(buddy.gradients()))
    apply(piece, arguments);
}

Status Exchange::roll_forward(std::int64_t step) {
  auto& device = replica().device();
  const auto stream = device.create_stream({.name = "rolling forward"});
  const auto taken = arguments(step);
  const auto& prepared = state().prepared();
  auto* const scale = state().loss_scale();
  if (prepared.findings) {
    device.copy(*stream, state().clip_factor(), prepared.clip_factor(), sizeof(float));
    if (scale)
      device.copy(*stream, scale, prepared.loss_scale(), sizeof *scale);
  }
  const auto apply = [&](const std::vector<OptimizerPiece>& pieces) {
    for (const auto& piece : pieces)
      device.optimizer_step(*stream, at_rate(taken, piece.rate), piece,
                            setup_.clip_norm ? state().clip_factor() : nullptr, scale);
  };
  for (const auto& bucket : plan().buckets)
    apply(state().prepared_pieces(bucket));
  if (const auto* const buddy = state().buddy())
    apply(buddy->kept_pieces(prepared.buddys ? prepared.buddys->floats() : buddy->gradients()));
  if (state().host())
    TROUPE_TRY(roll_forward_on_host(taken, *stream));
  if (scale)
    device.update_loss_scale(*stream, *setup_.loss_scale, scale);
  return stream->synchronize();
}

/// Gradients come down once more: those that did may be of a later step.
Status Exchange::roll_forward_on_host(const OptimizerArguments& taken, Stream& stream) {
  auto& device = replica().device();
  auto& updater = *replica().equipment->updater;
  const auto& host = *state().host();
  const auto* const buddy = state().buddy();
  const auto& prepared = state().prepared();
  device.copy(stream, host.clip_factor(), state().clip_factor(), sizeof(float));
  if (const auto* const scale = state().loss_scale())
    device.copy(stream, host.loss_scale(), scale, sizeof *scale);
  for (const auto& bucket : plan().buckets) {
    const auto own = state().host_piece(bucket);
    copy_elements(device, stream, own,
                  state().prepared_gradients(bucket) + state().kept_piece(bucket).elements);
    if (!buddy)
      continue;
    const auto copy = buddy->host_piece(bucket);
    copy_elements(device, stream, copy,
                  prepared.buddys
                      ? prepared.buddys->floats() + (copy.gradients - buddy->gradients())
                      : copy.gradients);
  }
  TROUPE_TRY(stream.synchronize());
  const auto updates = updater.create_stream({.name = "rolling forward"});
  const auto apply = [&](const std::vector<OptimizerPiece>& pieces) {
    for (const auto& piece : pieces)
      updater.optimizer_step(*updates, at_rate(taken, piece.rate), piece,
                             setup_.clip_norm ? host.clip_factor() : nullptr,
                             state().loss_scale() ? host.loss_scale() : nullptr);
  };
  for (const auto& bucket : plan().buckets) {
    apply(state().host_pieces(bucket));
    if (buddy)
      apply(buddy->host_pieces(bucket));
  }
  return updates->synchronize();
}

} // namespace troupe::engine
