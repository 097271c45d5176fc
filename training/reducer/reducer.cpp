#include "training/reducer/reducer.hpp"

#include "training/reducer/rank_average.hpp"

#include <utility>

namespace troupe::training {

using metrics::CollectiveKind;

GradientReducer::GradientReducer(GradientReducerSetup setup)
    : setup_{std::move(setup)}, collectives_{setup_.rank_state, setup_.row}, optimizer_{setup_},
      ready_(plan().buckets.size()) {
  if (strategy().offloads())
    host_.emplace(setup_.rank_state, setup_.host_rows);
}

EventPtr GradientReducer::finish_bucket(const Bucket& bucket, std::int64_t pass, StepWork& work) {
  const bool last = setup_.slice_assignment.ends_step(pass);
  if (work.plan.sums_after_pass(last))
    reduce(bucket, pass, work);
  auto reduced = stream().record();
  if (last && work.plan.applies_early)
    apply(bucket, work);
  if (last && work.plan.publishes_early(bucket))
    publish(bucket, work);
  return reduced;
}

void GradientReducer::finish_step(StepResults* found, StepWork& work) {
  if (work.plan.applies_early)
    device().count_update(stream(), &state().scratch()->steps);
  else
    apply_together(found, work);
  if (work.plan.ends_round)
    end_round(found, work);
}

void GradientReducer::apply_together(StepResults* found, StepWork& work) {
  const auto taken = setup_.arguments(work.plan);
  auto begin = stream().record();
  const auto span =
      setup_.row.span(stream(), {metrics::SpanKind::optimizer, "optimizer", "", work.plan.step});
  if (auto* const scale = state().loss_scale()) {
    optimizer_.check_finite();
    if (strategy().divides_optimizer)
      collectives_.all_reduce(*rank_state().shard_group, {&scale->found_inf, 1}, work, "found_inf");
  }
  if (work.plan.measures_norm)
    find_norm(taken, found, work);
  if (state().prepares())
    state().prepare(stream());
  if (work.plan.votes) {
    send_statistics(work);
    vote(work);
  }
  if (host_) {
    host_->take_findings(setup_.votes);
    // The next forward begins with the first units.
    for (auto bucket = plan().buckets.rbegin(); bucket != plan().buckets.rend(); ++bucket)
      host_->apply(*bucket, taken, setup_.clip_norm.has_value(), work.plan.step);
  }
  optimizer_.apply_step(taken, found);
  work.updates.emplace_back(std::move(begin), stream().record());
}

/// If ranks are in several processes, a round counts after all have voted for it. Until then each
/// keeps the state after the previous round (ModelState::keep_base).
void GradientReducer::end_round(StepResults* found, StepWork& work) {
  const auto span =
      setup_.row.span(stream(), {metrics::SpanKind::optimizer, "round", "", work.plan.step});
  if (!work.plan.sums) {
    RankAverage{setup_, collectives_, work}.average_all(strategy().rounds.momentum, found);
    if (setup_.votes)
      vote(work);
  }
  state().keep_base(stream());
}

void GradientReducer::synchronize() {
  StepWork of_no_step;
  const RankAverage mean{setup_, collectives_, of_no_step};
  if (strategy().has_replica_groups())
    mean.average_rest();
  else
    mean.average_all(OptimizerAtRound::averaged, nullptr);
  if (setup_.votes)
    vote(of_no_step);
  state().keep_base(stream());
  for (const auto& bucket : plan().buckets)
    publish(bucket, of_no_step);
}

void GradientReducer::accumulate(UnitId unit, std::int64_t pass, const StepPlan& planned) {
  if (layout().is_frozen(unit))
    return;
  const auto local_index = setup_.slice_assignment.local_index(rank_state().rank, pass);
  const auto elements = layout().storage().unit_elements[static_cast<std::size_t>(unit)];
  const bool sums = planned.sums_after_pass(setup_.slice_assignment.ends_step(pass));
  if (local_index < 0 && sums) // gradients of other ranks are added to this memory
    device().zero(stream(), buffers().gradients(unit), elements * sizeof(float));
  else if (local_index >= 0 && buffers().accumulated(unit))
    add_part(buffers().gradients(unit), buffers().accumulated(unit), elements, local_index,
             setup_.slice_assignment.slices_of(rank_state().rank));
}

void GradientReducer::add_part(float* fresh, float* sum, std::size_t elements, int index,
                               int parts) {
  if (parts == 1)
    return;
  if (index == 0)
    return device().copy(stream(), sum, fresh, elements * sizeof(float));
  const bool last = index + 1 == parts;
  float* const target = last ? fresh : sum;
  device().add(stream(), target, last ? sum : fresh, elements);
  device().round(stream(), target, layout().stored(), elements);
}

void GradientReducer::reduce(const Bucket& bucket, std::int64_t pass, StepWork& work) {
  if (layout().is_frozen(bucket))
    return; // its gradients are never read
  float* const gradients = part().gradients(bucket);
  const auto elements = layout().part(bucket).elements;
  if (strategy().divides_optimizer)
    reduce_shards(bucket, gradients, work);
  // A reduction over all gradients must not read stale values.
  if (!work.plan.applies_early)
    for (const auto& gap : layout().foreign_gaps(bucket))
      device().zero(stream(), gradients + gap.first, gap.elements * sizeof(float));
  if (rank_state().replicate_group->world_size() > 1)
    reduce_replicated(gradients, elements, work);
  if (strategy().world_size > 1)
    device().round(stream(), gradients, layout().stored(), elements);
  const auto& slice_assignment = setup_.slice_assignment;
  if (strategy().sums_shards())
    add_part(gradients, buffers().accumulated(bucket), elements, slice_assignment.place(pass),
             slice_assignment.passes());
  if (setup_.replica_distance > 0 && slice_assignment.ends_step(pass))
    send_to_replica(bucket, gradients, work);
  if (host_ && slice_assignment.ends_step(pass))
    host_->fetch(bucket, work.plan.step);
}

void GradientReducer::reduce_shards(const Bucket& bucket, float* mine, StepWork& work) {
  float* const all = buffers().gradients(bucket);
  auto& group = *rank_state().shard_group;
  const auto elements = plan().shard_elements(bucket);
  const auto type = strategy().reduced;
  // If buckets share memory, the padding has stale values of another bucket.
  device().zero(stream(), all + bucket.elements - bucket.padding, bucket.padding * sizeof(float));
  const auto whole = collectives_.as_sent(all, bucket.elements, type);
  const auto shard = collectives_.as_sent(mine, elements, type, layout().shard() * elements);
  collectives_.narrow(all, whole);
  collectives_.run(group, CollectiveKind::reduce_scatter, whole.bytes(), "", work,
                   [&] { group.reduce_scatter(stream(), whole.data, shard); });
  collectives_.widen(shard, mine);
}

void GradientReducer::reduce_replicated(float* gradients, std::size_t elements, StepWork& work) {
  auto& group = *rank_state().replicate_group;
  const auto kind = strategy().root_only ? CollectiveKind::reduce : CollectiveKind::all_reduce;
  const auto values = collectives_.as_sent(gradients, elements, strategy().reduced);
  collectives_.narrow(gradients, values);
  collectives_.run(group, kind, values.bytes(), "", work, [&] {
    strategy().root_only ? group.reduce(stream(), values, 0) : group.all_reduce(stream(), values);
  });
  collectives_.widen(values, gradients);
}

/// Returns the narrowest type that holds reduced gradients without loss. Sums sent in a narrower
/// type are values of that type, unless several of them were added here or rounded to another type.
DType GradientReducer::replica_type() const {
  const bool adds = strategy().sums_shards() && setup_.slice_assignment.passes() > 1;
  const auto stored = layout().stored(), reduced = strategy().reduced;
  const bool rounds = stored != DType::f32 && stored != reduced;
  return adds || rounds ? DType::f32 : reduced;
}

void GradientReducer::send_to_replica(const Bucket& bucket, float* gradients, StepWork& work) {
  auto& world = *rank_state().world;
  const auto elements = plan().shard_elements(bucket);
  float* const copy = state().shard_replica()->gradients(bucket);
  const auto mine = collectives_.as_sent(gradients, elements, replica_type());
  const auto received = collectives_.as_sent(copy, elements, mine.type, elements);
  collectives_.narrow(gradients, mine);
  collectives_.run(world, CollectiveKind::shard_replica, mine.bytes(), "", work,
                   [&] { world.shift(stream(), mine, received.data, setup_.replica_distance); });
  collectives_.widen(received, copy);
}

void GradientReducer::apply(const Bucket& bucket, StepWork& work) {
  auto begin = stream().record();
  {
    const auto span =
        setup_.row.span(stream(), {metrics::SpanKind::optimizer, "optimizer", "", work.plan.step});
    optimizer_.apply(part().kept_chunks(bucket), setup_.arguments(work.plan));
  }
  work.updates.emplace_back(std::move(begin), stream().record());
  if (host_)
    host_->apply(bucket, setup_.arguments(work.plan), false, work.plan.step);
}

void GradientReducer::find_norm(const OptimizerArguments& taken, StepResults* found,
                                StepWork& work) {
  double* const norm = &state().scratch()->squared_norm;
  optimizer_.square_gradients(taken);
  if (strategy().divides_optimizer)
    collectives_.all_reduce(*rank_state().shard_group, {norm, 1, DType::f64}, work, "norm");
  device().copy(stream(), &found->squared_norm, norm, sizeof *norm);
  optimizer_.clip();
}

/// Gives all ranks the statistics to continue with: those of rank 0, which has slice 0.
void GradientReducer::send_statistics(StepWork& work) {
  const auto& statistics = state().statistics();
  if (!statistics.commits())
    return share_statistics(); // a base stores the statistics of the job
  if (rank_state().rank == 0)
    statistics.commit(stream(), work.plan.step);
  collectives_.broadcast({statistics.committed(work.plan.step), statistics.elements()}, work,
                         "statistics");
}

/// A unanimous vote tells a rank that every rank has all inputs of this step, also its statistics:
/// a step that one rank applies, every rank can apply.
void GradientReducer::vote(StepWork& work) {
  state().vote(stream());
  collectives_.all_reduce(*rank_state().world, {&state().scratch()->votes, 1}, work, "vote");
  device().gate_updates(stream(), &state().scratch()->votes,
                        static_cast<float>(strategy().world_size));
}

/// The next forward begins with the first units.
void GradientReducer::publish_rest(StepWork& work) {
  for (auto bucket = plan().buckets.rbegin(); bucket != plan().buckets.rend(); ++bucket)
    if (!work.plan.publishes_early(*bucket))
      publish(*bucket, work);
}

void GradientReducer::gather(const Bucket& bucket, StepWork& work) {
  if (host_)
    await_host(bucket, work);
  float* const mine = shard_of_parameters(bucket);
  float* const all = buffers().parameters(bucket);
  auto& group = *rank_state().shard_group;
  const auto elements = plan().shard_elements(bucket);
  const auto type = strategy().gathered;
  const auto shard = collectives_.as_sent(mine, elements, type, layout().shard() * elements);
  const auto whole = collectives_.as_sent(all, bucket.elements, type);
  collectives_.narrow(mine, shard);
  collectives_.run(group, CollectiveKind::all_gather, whole.bytes(), "", work,
                   [&] { group.all_gather(stream(), shard, whole.data); });
  collectives_.widen(whole, all);
  ready_[layout().number_of(bucket)] = stream().record();
}

/// Returns the address of this rank's shard. If it is partly offloaded, copies it first to its
/// place in the gathered bucket.
float* GradientReducer::shard_of_parameters(const Bucket& bucket) {
  if (!strategy().offloads_parameters)
    return part().parameters(bucket);
  const auto mine = part().memory(parameters_array, layout().number_of(bucket));
  return on_device(device(), stream(), mine,
                   buffers().parameters(bucket) + (mine.range.first - bucket.offset));
}

void GradientReducer::publish(const Bucket& bucket, StepWork& work) {
  const bool changes = !layout().is_frozen(bucket); // otherwise, all ranks have the loaded values
  if (changes && host_) {
    host_->publish(bucket, work.plan.step);
    if (!strategy().divides_parameters)
      await_host(bucket, work);
  }
  if (changes && strategy().root_only)
    collectives_.broadcast({buffers().parameters(bucket), bucket.elements}, work);
  else if (changes && strategy().divides_optimizer && !strategy().divides_parameters)
    return gather(bucket, work);
  ready_[layout().number_of(bucket)] = stream().record();
}

void GradientReducer::await_host(const Bucket& bucket, StepWork& work) {
  auto begin = stream().record();
  host_->await(bucket);
  work.updates.emplace_back(std::move(begin), stream().record());
}

StateCopier GradientReducer::copier() {
  if (host_)
    for (const auto& bucket : plan().buckets)
      host_->await(bucket);
  return {state(), stream(), rank_state().shard_group.get()};
}

void GradientReducer::share_statistics() {
  rank_state().world->broadcast(
      stream(), {state().statistics().values(), layout().storage().statistic_elements}, 0);
}

} // namespace troupe::training
