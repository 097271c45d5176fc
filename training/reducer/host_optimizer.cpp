#include "training/reducer/host_optimizer.hpp"

#include "core/fail.hpp"
#include "cpu/host_device.hpp"

#include <algorithm>
#include <iterator>

namespace troupe::training {

Status add_updater(CompiledWorker& compiled, int threads) {
  const auto& info = compiled.device->info();
  if (!info.pinned)
    return fail(Errc::unsupported, "parallel.offload: {} has no pinned memory", info.name);
  compiled.updater = info.on_host ? compiled.device : cpu::make_host_device(info.index, threads);
  return {};
}

void add_host_streams(RankState& rank_state, int threads, std::chrono::milliseconds limit) {
  // Next to backward on the host itself, a second thread pool would compete with the first for
  // cores.
  const bool on_host = rank_state.device().info().on_host;
  rank_state.copies =
      rank_state.device().create_stream({.name = "copies", .threads = 1, .host_limit = limit});
  rank_state.updates = rank_state.compiled->updater->create_stream(
      {.name = "host optimizer", .threads = on_host ? 1 : threads});
}

HostOptimizer::HostOptimizer(std::shared_ptr<RankState> rank_state, HostOptimizerRows rows)
    : rank_state_{std::move(rank_state)}, rows_{std::move(rows)},
      fetched_(layout().plan().buckets.size()), updated_(fetched_.size()) {}

void HostOptimizer::copy(const Bucket& bucket, std::string_view what, float* to, const float* from,
                         std::int64_t step) {
  const auto bytes = part().host_chunk(bucket).host.elements * sizeof(float);
  const auto& unit = layout().storage().unit_names[static_cast<std::size_t>(bucket.units.first)];
  const auto span = rows_.copies.span(copies(), {metrics::SpanKind::copy, what, unit, step, bytes});
  rank_state_->device().copy(copies(), to, from, bytes);
}

void HostOptimizer::fetch(const Bucket& bucket, std::int64_t step) {
  const auto chunk = part().host_chunk(bucket);
  if (chunk.host.elements == 0)
    return;
  copies().wait(rank_state_->communication->record());
  copy(bucket, "gradients of", chunk.fetched, chunk.gradients, step);
  if (const auto* const shard_replica = state().shard_replica()) {
    const auto theirs = shard_replica->host_chunk(bucket);
    copy(bucket, "replica's gradients of", theirs.fetched, theirs.gradients, step);
  }
  fetched_[layout().number_of(bucket)] = copies().record();
}

void HostOptimizer::take_findings(bool votes) {
  auto& device = rank_state_->device();
  auto& stream = *rank_state_->communication;
  auto& host = part().host()->scalars();
  for (const auto& updated : updated_) // it may have read the results of the previous step
    if (updated)
      stream.wait(updated);
  device.copy(stream, &host.clip_factor, &state().scratch()->clip_factor, sizeof(float));
  if (const auto* const scale = state().loss_scale())
    device.copy(stream, &host.loss_scale, scale, sizeof *scale);
  if (votes)
    device.copy(stream, &host.votes, &state().scratch()->votes, sizeof(float));
  found_ = stream.record();
  if (!votes)
    return;
  rank_state_->updates->wait(found_);
  rank_state_->compiled->updater->gate_updates(*rank_state_->updates, &host.votes,
                                               static_cast<float>(layout().strategy().world_size));
}

void HostOptimizer::apply(const Bucket& bucket, const OptimizerArguments& arguments, bool clips,
                          std::int64_t step) {
  std::vector<OptimizerChunk> chunks;
  for (const auto* const each : state().parts())
    std::ranges::copy(each->host_chunks(bucket), std::back_inserter(chunks));
  if (chunks.empty())
    return;
  auto& host = part().host()->scalars();
  auto& stream = *rank_state_->updates;
  stream.wait(fetched_[layout().number_of(bucket)]);
  if (found_)
    stream.wait(found_);
  {
    const auto& unit = layout().storage().unit_names[static_cast<std::size_t>(bucket.units.first)];
    const auto span =
        rows_.updates.span(stream, {metrics::SpanKind::optimizer, "optimizer", unit, step});
    optimizer_step(
        *rank_state_->compiled->updater, stream, chunks, arguments,
        {clips ? &host.clip_factor : nullptr, state().loss_scale() ? &host.loss_scale : nullptr});
  }
  updated_[layout().number_of(bucket)] = stream.record();
}

void HostOptimizer::publish(const Bucket& bucket, std::int64_t step) {
  const auto chunk = part().host_chunk(bucket);
  if (chunk.host.elements == 0)
    return;
  if (const auto& updated =
          updated_[layout().number_of(bucket)]) // none if the whole chunk is frozen
    copies().wait(updated);
  if (chunk.parameters)
    copy(bucket, "parameters of", chunk.parameters, chunk.host.parameters, step);
  updated_[layout().number_of(bucket)] = copies().record();
}

void HostOptimizer::await(const Bucket& bucket) {
  if (const auto& updated = updated_[layout().number_of(bucket)])
    rank_state_->communication->wait(updated);
}

Stream& HostOptimizer::join() {
  copies().wait(rank_state_->communication->record());
  return copies();
}

} // namespace troupe::training
