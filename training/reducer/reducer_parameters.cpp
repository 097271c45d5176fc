// Parameters of a bucket: gathered before they are used, published after they are updated.
#include "training/reducer/reducer.hpp"

namespace troupe::training {

using metrics::CollectiveKind;

void GradientReducer::gather(const Bucket& bucket, StepWork& work) {
  gather_shards(bucket, work);
  ready_[layout().number_of(bucket)] = stream().record();
}

void GradientReducer::publish(const Bucket& bucket, StepWork& work) {
  send_parameters(bucket, work);
  ready_[layout().number_of(bucket)] = stream().record();
}

/// The next forward begins with the first units.
void GradientReducer::publish_rest(StepWork& work) {
  for (auto bucket = plan().buckets.rbegin(); bucket != plan().buckets.rend(); ++bucket)
    if (!work.plan.publishes_early(*bucket))
      publish(*bucket, work);
}

void GradientReducer::gather_shards(const Bucket& bucket, StepWork& work) {
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
  collectives_.run(group, CollectiveKind::all_gather, whole.bytes(), work,
                   [&] { group.all_gather(stream(), shard, whole.data); });
  collectives_.widen(whole, all);
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

void GradientReducer::send_parameters(const Bucket& bucket, StepWork& work) {
  if (layout().is_frozen(bucket))
    return; // all ranks have the loaded values
  if (host_) {
    host_->publish(bucket, work.plan.step);
    if (!strategy().divides_parameters)
      await_host(bucket, work);
  }
  if (strategy().root_only)
    return collectives_.broadcast({buffers().parameters(bucket), bucket.elements}, work);
  if (strategy().divides_optimizer && !strategy().divides_parameters)
    gather_shards(bucket, work);
}

void GradientReducer::await_host(const Bucket& bucket, StepWork& work) {
  auto begin = stream().record();
  host_->await(bucket);
  work.updates.emplace_back(std::move(begin), stream().record());
}

} // namespace troupe::training
