#include "training/strategies/async/parameter_server_shard.hpp"

#include "core/fail.hpp"

#include <algorithm>

namespace troupe::training {

using collectives::MessagePtr;

ParameterServerShard::ParameterServerShard(GradientReducerSetup reducer)
    : setup_{std::move(reducer)}, optimizer_{setup_} {}

Result<std::shared_ptr<ParameterServerShard>>
ParameterServerShard::create(GradientReducerSetup reducer) {
  auto rank_state = std::make_shared<RankState>(*reducer.rank_state);
  rank_state->communication = rank_state->owner;
  reducer.rank_state = std::move(rank_state);
  std::shared_ptr<ParameterServerShard> owner{new ParameterServerShard{std::move(reducer)}};
  TROUPE_TRY(owner->allocate());
  return owner;
}

Status ParameterServerShard::allocate() {
  const StepSumOptions options{.slices = setup_.slice_assignment.slices(),
                               .in_order = async().staleness == 0,
                               .stored = state().layout().stored(),
                               .absent = state().layout().frozen_buckets(),
                               .compensates = async().policy == StaleGradients::compensated};
  for (std::int64_t i = 0; i <= async().staleness; ++i) {
    TROUPE_TRY(auto sum, StepSum::create(device(), state().layout().plan(), options));
    sums_.push_back(std::move(sum));
  }
  if (async().prediction) {
    TROUPE_TRY(prediction_, WeightPrediction::create(setup_));
  }
  device().copy(stream(), &version_, &state().scratch()->steps, sizeof version_);
  if (const auto* const scale = state().loss_scale())
    device().copy(stream(), &scale_, &scale->scale, sizeof scale_);
  TROUPE_TRY(auto begun_with, copy(state().buffers().owned_parameters().data()));
  TROUPE_TRY(stream().synchronize());
  versions_[version_] = std::move(begun_with);
  plan_ = setup_.step_plan(version_);
  return {};
}

Result<BufferPtr> ParameterServerShard::copy(const float* values) {
  return copy_for_message(device(), stream(), values, state().layout().plan().shard_elements());
}

Result<BufferPtr> ParameterServerShard::copy_of_gradients() {
  return copy(state().buffers().owned_gradients().data());
}

float ParameterServerShard::factor(const Gradients& of) const {
  const auto lacked = std::max<std::int64_t>(of.step - of.read, 1);
  const float divided =
      async().policy == StaleGradients::divided ? 1 / static_cast<float>(lacked) : 1;
  return divided / of.scale;
}

Compensation ParameterServerShard::compensation() {
  return {static_cast<float>(async().compensation),
          [this](Version version) { return versions_.at(version)->floats(); }};
}

ParameterVersion ParameterServerShard::version_for(Version step) const {
  ParameterVersion point{.version = published()};
  if (!prediction_)
    return point;
  for (auto lacked = point.version; lacked < step; ++lacked) {
    const auto& sum = sum_of(lacked);
    ++point.predicted;
    point.arrived += lacked < version_ ? sum.all() : sum.added();
  }
  return point;
}

Result<BufferPtr> ParameterServerShard::parameters(const ParameterVersion& at) {
  if (at.predicted == 0)
    return versions_.rbegin()->second;
  const auto ahead = at.version + at.predicted - version_;
  if (ahead == 0)
    return next_->second;
  while (prediction_->steps() < ahead) {
    const auto step = version_ + prediction_->steps();
    TROUPE_TRY(prediction_->add(step, sum_of(step)));
  }
  return prediction_->parameters(ahead);
}

void ParameterServerShard::add(const MessagePtr& message) {
  const auto of = Gradients::of(*message);
  auto& counted = counted_[of.step];
  const auto found = std::ranges::find_if(counted, [&](const metrics::SliceRead& one) {
    return one.slice == of.slice && one.read == of.read;
  });
  if (found == counted.end())
    counted.push_back({of.slice, of.read, 1});
  else
    ++found->parts;
  sum_of(of.step).add(stream(), message, factor(of), compensation());
  if (prediction_)
    prediction_->forget();
}

void ParameterServerShard::take() {
  float* const gradients = state().buffers().owned_gradients().data();
  sum_of(version_).copy_to(stream(), gradients, version_, compensation());
  if (scale() != 1)
    device().scale(stream(), gradients, scale(), state().layout().plan().shard_elements());
}

void ParameterServerShard::keep_replica(const MessagePtr& message) {
  device().copy(stream(), state().shard_replica()->gradients().data(), message->values->data(),
                message->bytes);
  stream().on_complete([message](const Status&) {}); // keeps the message alive for the stream
}

Result<std::vector<metrics::SliceRead>>
ParameterServerShard::apply(const std::shared_ptr<StepResults>& found) {
  {
    const auto span =
        setup_.row.span(stream(), {metrics::SpanKind::optimizer, "optimizer", "", version_});
    optimizer_.apply_step(setup_.arguments(plan_), found.get());
  }
  applied_ = found;
  sum_of(version_).begin();
  TROUPE_TRY(auto next, copy(state().buffers().owned_parameters().data()));
  if (prediction_)
    prediction_->forget();
  auto reads = std::move(counted_[version_]);
  counted_.erase(version_);
  next_ = {++version_, std::move(next)};
  plan_ = setup_.step_plan(version_);
  return reads;
}

void ParameterServerShard::settle() {
  versions_.insert(*std::exchange(next_, std::nullopt));
  if (state().loss_scale())
    scale_ = applied_->loss_scale.scale;
  const bool compensates = async().policy == StaleGradients::compensated;
  const auto oldest = version_ - (compensates ? async().staleness : 0);
  versions_.erase(versions_.begin(), versions_.lower_bound(oldest));
}

} // namespace troupe::training
