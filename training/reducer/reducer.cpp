#include "training/reducer/reducer.hpp"

namespace troupe::training {

using collectives::Values;
using metrics::CollectiveKind;

GradientReducer::GradientReducer(GradientReducerSetup setup) : setup_{std::move(setup)} {
  if (strategy().offloads())
    host_.emplace(setup_.rank_state, setup_.host_rows);
}

void GradientReducer::collective(collectives::Communicator& communicator, CollectiveKind kind,
                                 std::size_t bytes, Collectives& done,
                                 const std::function<void()>& call, std::string_view of) {
  const auto before = communicator.traffic();
  auto begin = stream().record();
  {
    const auto span = setup_.row.span(
        stream(), {metrics::SpanKind::collective, metrics::to_string(kind), of, done.step, bytes});
    call();
  }
  done.done.push_back({kind, std::move(begin), stream().record(), communicator.traffic() - before});
}

void GradientReducer::all_reduce(collectives::Communicator& group, const Values& values,
                                 Collectives& done, std::string_view of) {
  collective(
      group, CollectiveKind::all_reduce, values.bytes(), done,
      [&] { group.all_reduce(stream(), values); }, of);
}

void GradientReducer::broadcast(const Values& values, Collectives& done, std::string_view of) {
  auto& world = *rank_state().world;
  collective(
      world, CollectiveKind::broadcast, values.bytes(), done,
      [&] { world.broadcast(stream(), values, 0); }, of);
}

void GradientReducer::gather(const Bucket& bucket, Collectives& done) {
  if (host_)
    await_host(bucket, done);
  float* const mine = shard_of_parameters(bucket);
  float* const all = buffers().parameters(bucket);
  auto& group = *rank_state().shard_group;
  const auto elements = plan().shard_elements(bucket);
  const auto type = strategy().gathered;
  const auto shard = as_sent(mine, elements, type, layout().shard() * elements);
  const auto whole = as_sent(all, bucket.elements, type);
  narrow(mine, shard);
  collective(group, CollectiveKind::all_gather, whole.bytes(), done,
             [&] { group.all_gather(stream(), shard, whole.data); });
  widen(whole, all);
}

/// Returns the address of this rank's shard. If it is partly offloaded, copies it first to its
/// place in the gathered bucket.
float* GradientReducer::shard_of_parameters(const Bucket& bucket) {
  if (!strategy().offloads_parameters)
    return part().parameters(bucket);
  const auto mine = part().memory(parameters_array, layout().number_of(bucket));
  return on_device(rank_state().device(), stream(), mine,
                   buffers().parameters(bucket) + (mine.range.first - bucket.offset));
}

Values GradientReducer::as_sent(float* values, std::size_t elements, DType type,
                                std::size_t place) const {
  if (type == DType::f32)
    return {values, elements};
  return {buffers().wire() + place * size_of(type), elements, type};
}

void GradientReducer::narrow(const float* values, const Values& to) {
  if (to.type != DType::f32)
    rank_state().device().narrow(stream(), values, to.data, to.type, to.elements);
}

void GradientReducer::widen(const Values& sent, float* to) {
  if (sent.type != DType::f32)
    rank_state().device().widen(stream(), sent.data, sent.type, to, sent.elements);
}

void GradientReducer::accumulate(UnitId unit, std::int64_t pass) {
  if (layout().is_frozen(unit))
    return;
  const auto local_index = setup_.slice_assignment.local_index(rank_state().rank, pass);
  const auto elements = layout().storage().unit_elements[static_cast<std::size_t>(unit)];
  if (local_index < 0 && sums(pass)) // gradients of other ranks are added to this memory
    rank_state().device().zero(stream(), buffers().gradients(unit), elements * sizeof(float));
  else if (local_index >= 0 && !strategy().sums_shards())
    add_part(buffers().gradients(unit), buffers().accumulated(unit), elements, local_index,
             setup_.slice_assignment.slices_of(rank_state().rank));
}

void GradientReducer::add_part(float* fresh, float* sum, std::size_t elements, int index,
                               int parts) {
  if (parts == 1)
    return;
  auto& device = rank_state().device();
  if (index == 0)
    return device.copy(stream(), sum, fresh, elements * sizeof(float));
  const bool last = index + 1 == parts;
  float* const target = last ? fresh : sum;
  device.add(stream(), target, last ? sum : fresh, elements);
  device.round(stream(), target, layout().stored(), elements);
}

void GradientReducer::reduce(const Bucket& bucket, std::int64_t pass, Collectives& done) {
  if (layout().is_frozen(bucket))
    return; // its gradients are never read
  float* const gradients = part().gradients(bucket);
  const auto elements = layout().part(bucket).elements;
  auto& device = rank_state().device();
  if (strategy().divides_optimizer)
    reduce_shards(bucket, gradients, done);
  // A reduction over all gradients must not read stale values.
  if (!step_plan(done.step).applies_early)
    for (const auto& gap : layout().foreign_gaps(bucket))
      device.zero(stream(), gradients + gap.first, gap.elements * sizeof(float));
  if (rank_state().replicate_group->world_size() > 1)
    reduce_replicated(gradients, elements, done);
  if (strategy().world_size > 1)
    device.round(stream(), gradients, layout().stored(), elements);
  const auto& slice_assignment = setup_.slice_assignment;
  if (strategy().sums_shards())
    add_part(gradients, buffers().accumulated(bucket), elements, slice_assignment.place(pass),
             slice_assignment.passes());
  if (setup_.replica_distance > 0 && slice_assignment.ends_step(pass))
    send_to_replica(bucket, gradients, done);
  if (host_ && slice_assignment.ends_step(pass))
    host_->fetch(bucket, done.step);
}

void GradientReducer::reduce_shards(const Bucket& bucket, float* mine, Collectives& done) {
  float* const all = buffers().gradients(bucket);
  auto& group = *rank_state().shard_group;
  const auto elements = plan().shard_elements(bucket);
  const auto type = strategy().reduced;
  // If buckets share memory, the padding has stale values of another bucket.
  rank_state().device().zero(stream(), all + bucket.elements - bucket.padding,
                             bucket.padding * sizeof(float));
  const auto whole = as_sent(all, bucket.elements, type);
  const auto shard = as_sent(mine, elements, type, layout().shard() * elements);
  narrow(all, whole);
  collective(group, CollectiveKind::reduce_scatter, whole.bytes(), done,
             [&] { group.reduce_scatter(stream(), whole.data, shard); });
  widen(shard, mine);
}

void GradientReducer::reduce_replicated(float* gradients, std::size_t elements, Collectives& done) {
  auto& group = *rank_state().replicate_group;
  const auto values = as_sent(gradients, elements, strategy().reduced);
  narrow(gradients, values);
  const auto kind = strategy().root_only ? CollectiveKind::reduce : CollectiveKind::all_reduce;
  collective(group, kind, values.bytes(), done, [&] {
    strategy().root_only ? group.reduce(stream(), values, 0) : group.all_reduce(stream(), values);
  });
  widen(values, gradients);
}

/// Returns the narrowest type that holds reduced gradients without loss. Sums sent in a narrower
/// type are values of that type, unless several of them were added here or rounded to another type.
DType GradientReducer::replica_type() const {
  const bool adds = strategy().sums_shards() && setup_.slice_assignment.passes() > 1;
  const auto stored = layout().stored(), reduced = strategy().reduced;
  const bool rounds = stored != DType::f32 && stored != reduced;
  return adds || rounds ? DType::f32 : reduced;
}

void GradientReducer::send_to_replica(const Bucket& bucket, float* gradients, Collectives& done) {
  auto& world = *rank_state().world;
  const auto elements = plan().shard_elements(bucket);
  float* const copy = state().shard_replica()->gradients(bucket);
  const auto mine = as_sent(gradients, elements, replica_type());
  const auto received = as_sent(copy, elements, mine.type, elements);
  narrow(gradients, mine);
  collective(world, CollectiveKind::shard_replica, mine.bytes(), done,
             [&] { world.shift(stream(), mine, received.data, setup_.replica_distance); });
  widen(received, copy);
}

StepPlan GradientReducer::step_plan(std::int64_t step) const {
  auto planned = rules_of(strategy().policy).plan(strategy(), step);
  planned.ends_round = strategy().trains_apart() && planned.agrees;
  // Replica groups vote only when they synchronize.
  planned.votes = setup_.votes && !strategy().has_replica_groups() && planned.sums;
  planned.measures_norm =
      setup_.clip_norm || (setup_.norm_every > 0 && step % setup_.norm_every == 0);
  const bool beside_backward = strategy().world_size > 1 || strategy().offloads();
  planned.applies_early =
      beside_backward && !planned.votes && !planned.measures_norm && !state().loss_scale();
  // Backward takes twice as long as forward: it has time for the reduce-scatters, which are half of
  // the bytes, and for up to half of the all-gathers. It takes those of the last units' parameters,
  // which the next forward needs last. If all were left to the next forward, it would wait for
  // them.
  const bool gathers = strategy().divides_optimizer && !strategy().divides_parameters;
  if (gathers && planned.applies_early && !host_)
    planned.published_early = (plan().elements + 1) / 2;
  return planned;
}

OptimizerArguments GradientReducer::arguments(std::int64_t step) const {
  auto arguments = setup_.optimizer(step);
  arguments.gradient_scale = static_cast<float>(1.0 / summed_slices(step));
  return arguments;
}

/// Returns the number of slices in the sum of a step's gradients on this rank.
int GradientReducer::summed_slices(std::int64_t step) const {
  const auto& slice_assignment = setup_.slice_assignment;
  if (!step_plan(step).sums)
    return slice_assignment.slices_of(rank_state().rank);
  return strategy().has_replica_groups()
             ? slices_of_replica_group(slice_assignment, strategy(), rank_state().rank)
             : slice_assignment.slices();
}

void GradientReducer::apply(const Bucket& bucket, Collectives& done) {
  auto begin = stream().record();
  {
    const auto span =
        setup_.row.span(stream(), {metrics::SpanKind::optimizer, "optimizer", "", done.step});
    apply(part().kept_chunks(bucket), arguments(done.step));
  }
  done.updates.emplace_back(std::move(begin), stream().record());
  if (host_)
    host_->apply(bucket, arguments(done.step), false, done.step);
}

void GradientReducer::await_host(const Bucket& bucket, Collectives& done) {
  auto begin = stream().record();
  host_->await(bucket);
  done.updates.emplace_back(std::move(begin), stream().record());
}

void GradientReducer::apply(const std::vector<OptimizerChunk>& chunks,
                            const OptimizerArguments& arguments) {
  if (layout().has_optimizer())
    optimizer_step(
        rank_state().device(), stream(), chunks, arguments,
        {setup_.clip_norm ? &state().scratch()->clip_factor : nullptr, state().loss_scale()});
}

void GradientReducer::finish_step(std::int64_t step, StepResults* found, Collectives& done) {
  const auto planned = step_plan(step);
  if (planned.applies_early)
    rank_state().device().count_update(stream(), &state().scratch()->steps);
  else
    apply_together(step, planned, found, done);
  if (planned.ends_round)
    end_round(step, planned, found, done);
}

void GradientReducer::apply_together(std::int64_t step, const StepPlan& planned, StepResults* found,
                                     Collectives& done) {
  const auto taken = arguments(step);
  auto begin = stream().record();
  const auto span =
      setup_.row.span(stream(), {metrics::SpanKind::optimizer, "optimizer", "", step});
  if (state().loss_scale())
    find_overflow(done);
  if (planned.measures_norm)
    find_norm(taken, found, done);
  if (state().prepares())
    state().prepare(stream());
  if (planned.votes)
    vote(step, done);
  if (host_)
    apply_on_host(taken, step);
  apply_kept(taken, found);
  done.updates.emplace_back(std::move(begin), stream().record());
}

/// Applies the elements that are not offloaded, and ends the step.
void GradientReducer::apply_kept(const OptimizerArguments& taken, StepResults* found) {
  apply(part().kept_chunks(), taken);
  if (const auto* const replica = state().shard_replica())
    for (const auto& bucket : plan().buckets)
      apply(replica->kept_chunks(bucket), taken);
  end_scaled_step(found);
}

void GradientReducer::end_scaled_step(StepResults* found) {
  auto& device = rank_state().device();
  auto* const scale = state().loss_scale();
  if (scale)
    device.update_loss_scale(stream(), *setup_.loss_scale, scale);
  device.count_update(stream(), &state().scratch()->steps);
  if (!scale)
    return;
  if (strategy().root_only) // only rank 0 knows whether the sums are finite
    rank_state().world->broadcast(stream(), {scale, sizeof *scale, DType::u8}, 0);
  device.copy(stream(), &found->loss_scale, scale, sizeof *scale);
}

void GradientReducer::apply_on_host(const OptimizerArguments& taken, std::int64_t step) {
  host_->take_findings(setup_.votes);
  // The next forward starts with the first units.
  for (auto bucket = plan().buckets.rbegin(); bucket != plan().buckets.rend(); ++bucket)
    host_->apply(*bucket, taken, setup_.clip_norm.has_value(), step);
}

/// A unanimous vote tells a rank that every rank has all inputs of this step: a step that one rank
/// applies, every rank can apply, and every rank has the statistics to continue with.
void GradientReducer::vote(std::int64_t step, Collectives& done) {
  if (state().statistics().commits())
    commit_statistics(step, done);
  else if (step_plan(step).votes)
    share_statistics(); // a base stores the statistics of the job
  state().vote(stream());
  all_reduce(*rank_state().world, {&state().scratch()->votes, 1}, done, "vote");
  rank_state().device().gate_updates(stream(), &state().scratch()->votes,
                                     static_cast<float>(strategy().world_size));
}

/// Rank 0 has slice 0, whose statistics are the job's.
void GradientReducer::commit_statistics(std::int64_t step, Collectives& done) {
  if (rank_state().rank == 0)
    state().statistics().commit(stream(), step);
  broadcast({state().statistics().committed(step), state().statistics().elements()}, done,
            "statistics");
}

void GradientReducer::find_overflow(Collectives& done) {
  check_finite();
  if (strategy().divides_optimizer)
    all_reduce(*rank_state().shard_group, {&state().loss_scale()->found_inf, 1}, done, "found_inf");
}

/// Gradients are already summed over ranks: a value that was not finite on one rank is found by all
/// ranks that hold the sum.
void GradientReducer::check_finite() {
  for (const auto& views : part().chunks())
    rank_state().device().check_finite(stream(), views.gradients, views.elements,
                                       &state().loss_scale()->found_inf);
}

void GradientReducer::find_norm(const OptimizerArguments& arguments, StepResults* found,
                                Collectives& done) {
  auto& device = rank_state().device();
  double* const norm = &state().scratch()->squared_norm;
  add_squared_gradients(arguments);
  if (strategy().divides_optimizer)
    all_reduce(*rank_state().shard_group, {norm, 1, DType::f64}, done, "norm");
  device.copy(stream(), &found->squared_norm, norm, sizeof *norm);
  if (setup_.clip_norm)
    device.clip_factor(stream(), norm, static_cast<float>(*setup_.clip_norm),
                       &state().scratch()->clip_factor);
}

/// Adds the squares of this rank's gradients to squared_norm().
void GradientReducer::add_squared_gradients(const OptimizerArguments& arguments) {
  auto& device = rank_state().device();
  double* const norm = &state().scratch()->squared_norm;
  device.zero(stream(), norm, sizeof *norm);
  for (const auto& views : part().chunks())
    device.add_squared_norm(stream(), arguments, views.gradients, views.elements, norm,
                            state().loss_scale());
}

void GradientReducer::publish(const Bucket& bucket, Collectives& done) {
  if (layout().is_frozen(bucket))
    return; // all ranks have the loaded values
  if (host_) {
    host_->publish(bucket, done.step);
    if (!strategy().divides_parameters)
      await_host(bucket, done);
  }
  if (strategy().root_only)
    return broadcast({buffers().parameters(bucket), bucket.elements}, done);
  if (strategy().divides_optimizer && !strategy().divides_parameters)
    gather(bucket, done);
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
