#include "engine/asynchronous/shard_owner.hpp"

#include "core/config/config.hpp"
#include "core/fail.hpp"

#include <algorithm>

namespace troupe::engine {

using collectives::MailPtr;

OwnerOptions owner_options(const ParallelConfig& parallel) {
  const auto& stale = parallel.stale;
  const auto gradients = stale.gradients == "divided"       ? StaleGradients::divided
                         : stale.gradients == "compensated" ? StaleGradients::compensated
                                                            : StaleGradients::whole;
  return {stale.staleness, gradients, stale.compensation, stale.prediction};
}

ShardOwner::ShardOwner(std::shared_ptr<Replica> replica, ExchangeSetup exchange,
                       OwnerOptions options)
    : replica_{std::move(replica)}, slices_{exchange.dealing.slices()}, options_{options},
      exchange_{std::move(exchange)} {}

Result<std::shared_ptr<ShardOwner>> ShardOwner::create(ExchangeSetup exchange,
                                                       const OwnerOptions& options) {
  auto replica = std::make_shared<Replica>(*exchange.replica);
  replica->communication = replica->owner;
  exchange.replica = replica;
  std::shared_ptr<ShardOwner> owner{
      new ShardOwner{std::move(replica), std::move(exchange), options}};
  TROUPE_TRY(owner->allocate());
  return owner;
}

Status ShardOwner::allocate() {
  StepSumOptions options{.slices = slices_,
                         .in_order = options_.staleness == 0,
                         .stored = state().stored(),
                         .compensates = options_.gradients == StaleGradients::compensated};
  for (const auto& bucket : state().plan().buckets)
    options.absent.push_back(state().is_frozen(bucket));
  for (std::int64_t i = 0; i <= options_.staleness; ++i) {
    TROUPE_TRY(auto sum, StepSum::create(replica_->device(), state().plan(), options));
    sums_.push_back(std::move(sum));
  }
  if (options_.predicts) {
    TROUPE_TRY(foresight_, Foresight::create(replica_, exchange_));
  }
  auto& device = replica_->device();
  device.copy(stream(), &version_, state().steps(), sizeof version_);
  if (const auto* const scale = state().loss_scale())
    device.copy(stream(), &scale_, &scale->scale, sizeof scale_);
  TROUPE_TRY(auto begun_with, copy(state().owned_parameters()));
  TROUPE_TRY(stream().synchronize());
  versions_[version_] = std::move(begun_with);
  return {};
}

Result<BufferPtr> ShardOwner::copy(const float* values) {
  const auto bytes = state().plan().shard_elements() * sizeof(float);
  TROUPE_TRY(auto buffer, replica_->device().allocate(bytes, mail_memory(replica_->device())));
  replica_->device().copy(stream(), buffer->data(), values, bytes);
  return buffer;
}

Result<BufferPtr> ShardOwner::copy_of_gradients() {
  return copy(state().owned_gradients());
}

float ShardOwner::factor(const Gradients& of) const {
  const auto lacked = std::max<std::int64_t>(of.step - of.read, 1);
  const float divided =
      options_.gradients == StaleGradients::divided ? 1 / static_cast<float>(lacked) : 1;
  return divided / of.scale;
}

Compensation ShardOwner::compensation() {
  return {static_cast<float>(options_.compensation),
          [this](Version version) { return versions_.at(version)->floats(); }};
}

Point ShardOwner::point_for(Version step) const {
  Point point{.version = published()};
  if (!foresight_)
    return point;
  for (auto lacked = point.version; lacked < step; ++lacked) {
    const auto& sum = sum_of(lacked);
    ++point.predicted;
    point.come += lacked < version_ ? sum.all() : sum.added();
  }
  return point;
}

Result<BufferPtr> ShardOwner::parameters(const Point& at) {
  if (at.predicted == 0)
    return versions_.rbegin()->second;
  const auto ahead = at.version + at.predicted - version_;
  if (ahead == 0)
    return next_->second;
  while (foresight_->steps() < ahead) {
    const auto step = version_ + foresight_->steps();
    TROUPE_TRY(foresight_->add(step, sum_of(step)));
  }
  return foresight_->parameters(ahead);
}

void ShardOwner::add(const MailPtr& mail) {
  const auto of = Gradients::of(*mail);
  auto& counted = counted_[of.step];
  const auto found = std::ranges::find_if(
      counted, [&](const SliceRead& one) { return one.slice == of.slice && one.read == of.read; });
  if (found == counted.end())
    counted.push_back({of.slice, of.read, 1});
  else
    ++found->parts;
  sum_of(of.step).add(stream(), mail, factor(of), compensation());
  if (foresight_)
    foresight_->forget();
}

void ShardOwner::take() {
  float* const gradients = state().owned_gradients();
  sum_of(version_).copy_to(stream(), gradients, version_, compensation());
  if (scale() != 1)
    replica_->device().scale(stream(), gradients, scale(), state().plan().shard_elements());
}

void ShardOwner::keep_buddys(const MailPtr& mail) {
  replica_->device().copy(stream(), state().buddy()->gradients(), mail->values->data(),
                          mail->bytes);
  stream().on_complete([mail](const Status&) {}); // it lives so long
}

Result<SliceReads> ShardOwner::apply(const std::shared_ptr<StepFindings>& found) {
  exchange_.apply_prepared(version_, found.get());
  applied_ = found;
  sum_of(version_).begin();
  TROUPE_TRY(auto next, copy(state().owned_parameters()));
  if (foresight_)
    foresight_->forget();
  auto reads = std::move(counted_[version_]);
  counted_.erase(version_);
  next_ = {++version_, std::move(next)};
  return reads;
}

void ShardOwner::settle() {
  versions_.insert(*std::exchange(next_, std::nullopt));
  if (state().loss_scale())
    scale_ = applied_->loss_scale.scale;
  const bool compensates = options_.gradients == StaleGradients::compensated;
  const auto oldest = version_ - (compensates ? options_.staleness : 0);
  versions_.erase(versions_.begin(), versions_.lower_bound(oldest));
}

} // namespace troupe::engine
