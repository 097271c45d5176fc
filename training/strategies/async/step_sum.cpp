#include "training/strategies/async/step_sum.hpp"

#include "core/fail.hpp"

#include <algorithm>

namespace troupe::training {

using collectives::MessagePtr;

Result<StepSum> StepSum::create(Device& device, const FlatPlan& plan,
                                const StepSumOptions& options) {
  StepSum made{device, plan, options};
  const auto bytes = plan.shard_elements() * sizeof(float);
  TROUPE_TRY(made.sum_, device.allocate(bytes, MemoryKind::gradients));
  if (options.compensates) {
    TROUPE_TRY(made.squares_, device.allocate(bytes, MemoryKind::gradients));
    TROUPE_TRY(made.squares_read_, device.allocate(bytes, MemoryKind::gradients));
    TROUPE_TRY(made.square_, device.allocate(bytes, MemoryKind::gradients));
  }
  made.begin();
  return made;
}

void StepSum::begin() {
  parts_.assign(plan_->buckets.size(), {});
  all_ = missing_ = options_.slices * std::ranges::count(options_.absent, false);
}

const float* StepSum::so_far(Stream& stream, std::size_t bucket) {
  float* const sum = sum_->floats() + plan_->shard_offset(plan_->buckets[bucket]);
  if (added(bucket) == 0)
    device_->zero(stream, sum, plan_->shard_elements(plan_->buckets[bucket]) * sizeof(float));
  return sum;
}

void StepSum::add(Stream& stream, const MessagePtr& message, float factor,
                  const Compensation& compensation) {
  const auto of = Gradients::of(*message);
  auto& part = parts_[of.bucket];
  part.here.insert(of.slice);
  part.early[options_.in_order ? of.slice : part.added] = [=, this, &stream] {
    add_now(stream, message, factor, compensation);
  };
  while (!part.early.empty() && part.early.begin()->first == part.added) {
    part.early.extract(part.early.begin()).mapped()();
    ++part.added;
    --missing_;
  }
}

void StepSum::add_now(Stream& stream, const MessagePtr& message, float factor,
                      const Compensation& compensation) {
  const auto of = Gradients::of(*message);
  const auto& bucket = plan_->buckets[of.bucket];
  const auto place = plan_->shard_offset(bucket), elements = plan_->shard_elements(bucket);
  float* const fresh = message->values->floats();
  float* const sum = sum_->floats() + place;
  if (factor != 1)
    device_->scale(stream, fresh, factor, elements);
  if (parts_[of.bucket].added == 0) {
    device_->copy(stream, sum, fresh, elements * sizeof(float));
  } else {
    device_->add(stream, sum, fresh, elements);
  }
  if (options_.compensates) {
    if (parts_[of.bucket].added == 0)
      for (auto* buffer : {&squares_, &squares_read_})
        device_->zero(stream, (*buffer)->floats() + place, elements * sizeof(float));
    compensate(stream, place, fresh, elements, compensation.parameters(of.read) + place);
  }
  stream.on_complete([message](const Status&) {}); // keeps the message alive for the stream
}

void StepSum::compensate(Stream& stream, std::size_t place, const float* gradients,
                         std::size_t elements, const float* read) {
  float* const square = square_->floats() + place;
  device_->zero(stream, square, elements * sizeof(float));
  device_->add_product(stream, square, gradients, gradients, elements);
  device_->add(stream, squares_->floats() + place, square, elements);
  device_->add_product(stream, squares_read_->floats() + place, square, read, elements);
}

void StepSum::copy_to(Stream& stream, float* to, Version applied,
                      const Compensation& compensation) {
  const auto elements = plan_->shard_elements();
  device_->copy(stream, to, sum_->floats(), elements * sizeof(float));
  if (options_.compensates)
    add_compensation(stream, to, compensation.rate, compensation.parameters(applied));
  device_->round(stream, to, options_.stored, elements);
}

void StepSum::add_compensation(Stream& stream, float* to, float rate, const float* parameters) {
  const auto elements = plan_->shard_elements();
  float* const late = squares_read_->floats();
  device_->scale(stream, late, -1, elements);
  device_->add_product(stream, late, squares_->floats(), parameters, elements);
  device_->scale(stream, late, rate, elements);
  device_->add(stream, to, late, elements);
}

} // namespace troupe::training
