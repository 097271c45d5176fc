#include "engine/exchange/exchange.hpp"

#include <algorithm>

namespace troupe::engine {

using collectives::Bucket;
using collectives::Values;
using metrics::CollectiveKind;

Exchange::Exchange(ExchangeSetup setup)
    : setup_{std::move(setup)}, rules_{collectives::rules_of(strategy().policy)} {
  if (strategy().offloads())
    host_.emplace(setup_.replica, setup_.host_rows);
}

void Exchange::collective(collectives::Communicator& communicator, CollectiveKind kind,
                          std::size_t bytes, Collectives& done, const std::function<void()>& call,
                          std::string_view of) {
  const auto before = communicator.traffic().bytes;
  auto begin = stream().record();
  {
    const auto span = setup_.row.span(
        stream(), {metrics::SpanKind::collective, metrics::to_string(kind), of, done.step, bytes});
    call();
  }
  done.done.push_back(
      {kind, std::move(begin), stream().record(), communicator.traffic().bytes - before});
}

void Exchange::gather(const Bucket& bucket, Collectives& done) {
  if (host_)
    await_host(bucket, done);
  float* const mine = shard_of_parameters(bucket);
  const auto elements = plan().shard_elements(bucket);
  float* const all = state().parameters(bucket);
  auto& group = *replica().shard_group;
  auto& device = replica().device();
  const auto type = strategy().gathered;
  Values shard{mine, elements};
  void* whole = all;
  if (type != DType::f32) {
    shard = shard_on_wire(elements, type);
    whole = state().wire();
    device.narrow(stream(), mine, shard.data, type, elements);
  }
  collective(group, CollectiveKind::all_gather, bucket.elements * size_of(type), done,
             [&] { group.all_gather(stream(), shard, whole); });
  if (type != DType::f32)
    device.widen(stream(), whole, type, all, bucket.elements);
}

/// What is offloaded is copied to its place among those of all ranks.
float* Exchange::shard_of_parameters(const Bucket& bucket) {
  const auto kept = state().kept_piece(bucket);
  const auto offloaded = state().host_piece(bucket).host;
  if (!strategy().offloads_parameters || offloaded.elements == 0)
    return kept.parameters;
  auto& device = replica().device();
  float* const place =
      state().parameters(bucket) + state().shard() * (kept.elements + offloaded.elements);
  device.copy(stream(), place + kept.elements, offloaded.parameters,
              offloaded.elements * sizeof(float));
  if (kept.elements > 0)
    device.copy(stream(), place, kept.parameters, kept.elements * sizeof(float));
  return place;
}

/// Where this rank's shard lies in a bucket on the wire.
Values Exchange::shard_on_wire(std::size_t elements, DType type) const {
  return {state().wire() + state().shard() * elements * size_of(type), elements, type};
}

void Exchange::accumulate(UnitId unit, std::int64_t pass) {
  if (state().is_frozen(unit))
    return;
  const auto turn = setup_.dealing.turn(replica().rank, pass);
  const auto elements = state().layout().unit_elements[static_cast<std::size_t>(unit)];
  if (turn < 0 && sums(pass)) // the others' gradients are added to what lies there
    replica().device().zero(stream(), state().gradients(unit), elements * sizeof(float));
  else if (turn >= 0 && !state().sums_shards())
    add_part(state().gradients(unit), state().accumulated(unit), elements, turn,
             setup_.dealing.slices_of(replica().rank));
}

void Exchange::add_part(float* fresh, float* sum, std::size_t elements, int index, int parts) {
  if (parts == 1)
    return;
  auto& device = replica().device();
  if (index == 0)
    return device.copy(stream(), sum, fresh, elements * sizeof(float));
  const bool last = index + 1 == parts;
  float* const target = last ? fresh : sum;
  device.add(stream(), target, last ? sum : fresh, elements);
  device.round(stream(), target, state().stored(), elements);
}

void Exchange::reduce(const Bucket& bucket, std::int64_t pass, Collectives& done) {
  if (state().is_frozen(bucket))
    return; // nobody reads what its gradients' memory holds
  const auto mine = state().piece(bucket);
  float* const gradients = const_cast<float*>(mine.gradients);
  auto& device = replica().device();
  if (strategy().divides_optimizer)
    reduce_shards(bucket, gradients, done);
  if (!applies_early(done.step)) // something is asked of all gradients together
    for (const auto& gap : state().foreign_gradients(bucket))
      device.zero(stream(), gradients + gap.first, gap.elements * sizeof(float));
  if (replica().replica_group->world_size() > 1)
    reduce_replicas(gradients, mine.elements, done);
  if (strategy().world_size > 1)
    device.round(stream(), gradients, state().stored(), mine.elements);
  const auto& dealing = setup_.dealing;
  if (state().sums_shards())
    add_part(gradients, state().accumulated(bucket), mine.elements, dealing.place(pass),
             dealing.passes());
  if (setup_.buddy_distance > 0 && dealing.ends_step(pass))
    send_to_buddy(bucket, gradients, done);
  if (host_ && dealing.ends_step(pass))
    host_->fetch(bucket, done.step);
}

void Exchange::reduce_shards(const Bucket& bucket, float* mine, Collectives& done) {
  float* const all = state().gradients(bucket);
  auto& group = *replica().shard_group;
  auto& device = replica().device();
  const auto elements = plan().shard_elements(bucket);
  const auto type = strategy().reduced;
  // Where buckets share memory, the padding has what another one left there.
  device.zero(stream(), all + bucket.elements - bucket.padding, bucket.padding * sizeof(float));
  Values shard{mine, elements};
  void* whole = all;
  if (type != DType::f32) {
    shard = shard_on_wire(elements, type);
    whole = state().wire();
    device.narrow(stream(), all, whole, type, bucket.elements);
  }
  collective(group, CollectiveKind::reduce_scatter, bucket.elements * size_of(type), done,
             [&] { group.reduce_scatter(stream(), whole, shard); });
  if (type != DType::f32)
    device.widen(stream(), shard.data, type, mine, elements);
}

void Exchange::reduce_replicas(float* gradients, std::size_t elements, Collectives& done) {
  auto& group = *replica().replica_group;
  auto& device = replica().device();
  const auto type = strategy().reduced;
  Values values{gradients, elements};
  if (type != DType::f32) {
    values = {state().wire(), elements, type};
    device.narrow(stream(), gradients, values.data, type, elements);
  }
  const auto kind = strategy().root_only ? CollectiveKind::reduce : CollectiveKind::all_reduce;
  collective(group, kind, values.bytes(), done, [&] {
    strategy().root_only ? group.reduce(stream(), values, 0) : group.all_reduce(stream(), values);
  });
  if (type != DType::f32)
    device.widen(stream(), values.data, type, gradients, elements);
}

bool Exchange::measures_norm(std::int64_t step) const {
  return setup_.clip_norm || (setup_.norm_every > 0 && step % setup_.norm_every == 0);
}

bool Exchange::applies_early(std::int64_t step) const {
  const bool beside_backward = strategy().world_size > 1 || strategy().offloads();
  return beside_backward && !votes(step) && !measures_norm(step) && !state().loss_scale();
}

/// Backward takes twice as long as forward: it has room for the reduce-scatters, which are half of
/// the bytes, and for up to half of the all-gathers. It takes those of the last units' parameters,
/// which the next forward needs last; were all left to that, it would wait for them.
bool Exchange::publishes_early(const Bucket& bucket, std::int64_t step) const {
  const bool gathers = strategy().divides_optimizer && !strategy().divides_parameters;
  return gathers && applies_early(step) && !host_ && 2 * bucket.offset >= plan().elements;
}

OptimizerArguments Exchange::arguments(std::int64_t step) const {
  auto arguments = setup_.optimizer(step);
  arguments.gradient_scale = static_cast<float>(1.0 / summed_slices(step));
  return arguments;
}

/// Of a step, whose gradients a rank has the sum of.
int Exchange::summed_slices(std::int64_t step) const {
  const auto& dealing = setup_.dealing;
  if (!sums_step(step))
    return dealing.slices_of(replica().rank);
  return strategy().has_teams() ? slices_of_team(dealing, strategy(), replica().rank)
                                : dealing.slices();
}

/// Whether all ranks apply a step together. What teams do by themselves counts where they meet.
bool Exchange::votes(std::int64_t step) const {
  return setup_.votes && !strategy().has_teams() && sums_step(step);
}

void Exchange::apply(const Bucket& bucket, Collectives& done) {
  auto begin = stream().record();
  {
    const auto span =
        setup_.row.span(stream(), {metrics::SpanKind::optimizer, "optimizer", "", done.step});
    for (const auto& piece : state().kept_pieces(bucket))
      apply(piece, arguments(done.step));
  }
  done.updates.emplace_back(std::move(begin), stream().record());
  if (host_)
    host_->apply(bucket, arguments(done.step), false, done.step);
}

void Exchange::await_host(const Bucket& bucket, Collectives& done) {
  auto begin = stream().record();
  host_->await(bucket);
  done.updates.emplace_back(std::move(begin), stream().record());
}

void Exchange::apply(const OptimizerPiece& piece, const OptimizerArguments& arguments) {
  if (has_optimizer())
    replica().device().optimizer_step(stream(), at_rate(arguments, piece.rate), piece,
                                      setup_.clip_norm ? state().clip_factor() : nullptr,
                                      state().loss_scale());
}

void Exchange::finish_step(std::int64_t step, StepFindings* found, Collectives& done) {
  if (applies_early(step))
    replica().device().count_update(stream(), state().steps());
  else
    apply_together(step, found, done);
  if (strategy().trains_apart() && rules_.agree(strategy(), step))
    end_round(step, found, done);
}

void Exchange::apply_together(std::int64_t step, StepFindings* found, Collectives& done) {
  const auto taken = arguments(step);
  auto begin = stream().record();
  const auto span =
      setup_.row.span(stream(), {metrics::SpanKind::optimizer, "optimizer", "", step});
  if (state().loss_scale())
    find_overflow(done);
  if (measures_norm(step))
    find_norm(taken, found, done);
  if (state().prepares())
    state().prepare(stream());
  if (votes(step))
    vote(step, done);
  if (host_)
    apply_on_host(taken, step);
  for (const auto& piece : state().kept_pieces())
    apply(piece, taken);
  if (state().buddy())
    apply_to_copy(taken);
  end_scaled_step(found);
  done.updates.emplace_back(std::move(begin), stream().record());
}

void Exchange::end_scaled_step(StepFindings* found) {
  auto& device = replica().device();
  auto* const scale = state().loss_scale();
  if (scale)
    device.update_loss_scale(stream(), *setup_.loss_scale, scale);
  device.count_update(stream(), state().steps());
  if (!scale)
    return;
  if (strategy().root_only) // rank 0 alone knows whether the sums are finite
    replica().world->broadcast(stream(), {scale, sizeof *scale, DType::u8}, 0);
  device.copy(stream(), &found->loss_scale, scale, sizeof *scale);
}

void Exchange::apply_on_host(const OptimizerArguments& taken, std::int64_t step) {
  host_->take_findings(setup_.votes);
  // The next forward begins with the first units.
  for (auto bucket = plan().buckets.rbegin(); bucket != plan().buckets.rend(); ++bucket)
    host_->apply(*bucket, taken, setup_.clip_norm.has_value(), step);
}

/// Who gets all votes knows that each rank has all that it needs of the others for this step: what
/// one of them applies, all can, and each has the statistics to go on with.
void Exchange::vote(std::int64_t step, Collectives& done) {
  auto& world = *replica().world;
  if (state().commits_statistics())
    commit_statistics(step, done);
  else if (votes(step))
    share_statistics(); // what a base keeps is the job's
  state().vote(stream());
  collective(
      world, CollectiveKind::all_reduce, sizeof(float), done,
      [&] {
        world.all_reduce(stream(), {state().votes(), 1});
      },
      "vote");
  replica().device().gate_updates(stream(), state().votes(),
                                  static_cast<float>(strategy().world_size));
}

/// Rank 0 has slice 0, whose statistics are the job's.
void Exchange::commit_statistics(std::int64_t step, Collectives& done) {
  auto& world = *replica().world;
  if (replica().rank == 0)
    state().commit_statistics(stream(), step);
  const Values statistics{state().committed_statistics(step), state().layout().statistic_elements};
  collective(
      world, CollectiveKind::broadcast, statistics.bytes(), done,
      [&] { world.broadcast(stream(), statistics, 0); }, "statistics");
}

void Exchange::find_overflow(Collectives& done) {
  auto& found = state().loss_scale()->found_inf;
  // Gradients are sums over ranks by now: what was not finite on one rank is found by all that hold
  // the sum.
  for (const auto& views : state().pieces())
    replica().device().check_finite(stream(), views.gradients, views.elements, &found);
  if (strategy().divides_optimizer)
    collective(
        *replica().shard_group, CollectiveKind::all_reduce, sizeof found, done,
        [&] {
          replica().shard_group->all_reduce(stream(), {&found, 1});
        },
        "found_inf");
}

void Exchange::find_norm(const OptimizerArguments& arguments, StepFindings* found,
                         Collectives& done) {
  auto& device = replica().device();
  double* const norm = state().squared_norm();
  add_squared_gradients(arguments);
  if (strategy().divides_optimizer)
    collective(
        *replica().shard_group, CollectiveKind::all_reduce, sizeof *norm, done,
        [&] {
          replica().shard_group->all_reduce(stream(), {norm, 1, DType::f64});
        },
        "norm");
  device.copy(stream(), &found->squared_norm, norm, sizeof *norm);
  if (setup_.clip_norm)
    device.clip_factor(stream(), norm, static_cast<float>(*setup_.clip_norm),
                       state().clip_factor());
}

/// To squared_norm(), of what this rank has.
void Exchange::add_squared_gradients(const OptimizerArguments& arguments) {
  auto& device = replica().device();
  double* const norm = state().squared_norm();
  device.zero(stream(), norm, sizeof *norm);
  for (const auto& views : state().pieces())
    device.add_squared_norm(stream(), arguments, views.gradients, views.elements, norm,
                            state().loss_scale());
}

void Exchange::publish(const Bucket& bucket, Collectives& done) {
  if (state().is_frozen(bucket))
    return; // all ranks have what was loaded
  if (host_) {
    host_->publish(bucket, done.step);
    if (!strategy().divides_parameters)
      await_host(bucket, done);
  }
  if (strategy().root_only) {
    auto& world = *replica().world;
    return collective(world, CollectiveKind::broadcast, bucket.elements * sizeof(float), done, [&] {
      world.broadcast(stream(), {state().parameters(bucket), bucket.elements}, 0);
    });
  }
  if (strategy().divides_optimizer && !strategy().divides_parameters)
    gather(bucket, done);
}

void Exchange::share_statistics() {
  replica().world->broadcast(stream(), {state().statistics(), state().layout().statistic_elements},
                             0);
}

} // namespace troupe::engine
