#include "engine/exchange/host_optimizer.hpp"

#include "core/fail.hpp"
#include "cpu/host_device.hpp"

#include <algorithm>
#include <iterator>

namespace troupe::engine {

using collectives::Bucket;

Status add_updater(Equipment& equipment, int threads) {
  const auto& info = equipment.device->info();
  if (!info.pinned)
    return fail(Errc::unsupported, "parallel.offload: {} has no pinned memory", info.name);
  equipment.updater = info.on_host ? equipment.device : cpu::make_host_device(info.index, threads);
  return {};
}

void add_host_streams(Replica& replica, int threads, std::chrono::milliseconds limit) {
  // Beside backward on the host itself, a second team of threads would fight with the first.
  const bool on_host = replica.device().info().on_host;
  replica.copies =
      replica.device().create_stream({.name = "copies", .threads = 1, .host_limit = limit});
  replica.updates = replica.equipment->updater->create_stream(
      {.name = "host optimizer", .threads = on_host ? 1 : threads});
}

HostOptimizer::HostOptimizer(std::shared_ptr<Replica> replica, HostOptimizerRows rows)
    : replica_{std::move(replica)}, rows_{std::move(rows)}, fetched_(state().plan().buckets.size()),
      updated_(fetched_.size()) {}

std::size_t HostOptimizer::index_of(const Bucket& bucket) const {
  return state().plan().bucket_of[static_cast<std::size_t>(bucket.units.first)];
}

void HostOptimizer::copy(const Bucket& bucket, std::string_view what, float* to, const float* from,
                         std::int64_t step) {
  const auto bytes = state().host_piece(bucket).host.elements * sizeof(float);
  const auto& unit = state().layout().unit_names[static_cast<std::size_t>(bucket.units.first)];
  const auto span = rows_.copies.span(copies(), {metrics::SpanKind::copy, what, unit, step, bytes});
  replica_->device().copy(copies(), to, from, bytes);
}

void HostOptimizer::fetch(const Bucket& bucket, std::int64_t step) {
  const auto piece = state().host_piece(bucket);
  if (piece.host.elements == 0)
    return;
  copies().wait(replica_->communication->record());
  copy(bucket, "gradients of", const_cast<float*>(piece.host.gradients), piece.gradients, step);
  if (const auto* const buddy = state().buddy()) {
    const auto theirs = buddy->host_piece(bucket);
    copy(bucket, "another's gradients of", const_cast<float*>(theirs.host.gradients),
         theirs.gradients, step);
  }
  fetched_[index_of(bucket)] = copies().record();
}

void HostOptimizer::take_findings(bool votes) {
  auto& device = replica_->device();
  auto& stream = *replica_->communication;
  const auto& host = *state().host();
  for (const auto& updated : updated_) // which may have read what was found of the step before
    if (updated)
      stream.wait(updated);
  device.copy(stream, host.clip_factor(), state().clip_factor(), sizeof(float));
  if (const auto* const scale = state().loss_scale())
    device.copy(stream, host.loss_scale(), scale, sizeof *scale);
  if (votes)
    device.copy(stream, host.votes(), state().votes(), sizeof(float));
  found_ = stream.record();
  if (!votes)
    return;
  replica_->updates->wait(found_);
  replica_->equipment->updater->gate_updates(*replica_->updates, host.votes(),
                                             static_cast<float>(state().strategy().world_size));
}

void HostOptimizer::apply(const Bucket& bucket, const OptimizerArguments& arguments, bool clips,
                          std::int64_t step) {
  auto pieces = state().host_pieces(bucket);
  if (const auto* const buddy = state().buddy())
    std::ranges::copy(buddy->host_pieces(bucket), std::back_inserter(pieces));
  if (pieces.empty())
    return;
  const auto& host = *state().host();
  auto& stream = *replica_->updates;
  stream.wait(fetched_[index_of(bucket)]);
  if (found_)
    stream.wait(found_);
  {
    const auto& unit = state().layout().unit_names[static_cast<std::size_t>(bucket.units.first)];
    const auto span =
        rows_.updates.span(stream, {metrics::SpanKind::optimizer, "optimizer", unit, step});
    for (const auto& piece : pieces)
      replica_->equipment->updater->optimizer_step(
          stream, at_rate(arguments, piece.rate), piece, clips ? host.clip_factor() : nullptr,
          state().loss_scale() ? host.loss_scale() : nullptr);
  }
  updated_[index_of(bucket)] = stream.record();
}

void HostOptimizer::publish(const Bucket& bucket, std::int64_t step) {
  const auto piece = state().host_piece(bucket);
  if (piece.host.elements == 0)
    return;
  if (const auto& updated = updated_[index_of(bucket)]) // unless all of the piece is frozen
    copies().wait(updated);
  if (piece.parameters)
    copy(bucket, "parameters of", piece.parameters, piece.host.parameters, step);
  updated_[index_of(bucket)] = copies().record();
}

void HostOptimizer::await(const Bucket& bucket) {
  if (const auto& updated = updated_[index_of(bucket)])
    replica_->communication->wait(updated);
}

Stream& HostOptimizer::join() {
  copies().wait(replica_->communication->record());
  return copies();
}

} // namespace troupe::engine
