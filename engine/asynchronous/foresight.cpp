#include "engine/asynchronous/foresight.hpp"

#include "core/fail.hpp"
#include "engine/asynchronous/letters.hpp"

#include <algorithm>

namespace troupe::engine {

Result<Foresight> Foresight::create(std::shared_ptr<Replica> replica, const Exchange& exchange) {
  Foresight made{std::move(replica), exchange};
  auto& device = made.replica_->device();
  const auto bytes = exchange.plan().shard_elements() * sizeof(float);
  TROUPE_TRY(made.copy_.parameters, device.allocate(bytes, MemoryKind::parameters));
  for (const auto& slot : made.state().optimizer_arrays()) {
    TROUPE_TRY(auto copy, device.allocate(slot.size_bytes(), MemoryKind::optimizer));
    made.copy_.slots.push_back(std::move(copy));
  }
  return made;
}

void Foresight::begin() {
  auto& device = replica_->device();
  device.copy(stream(), copy_.parameters->data(), state().owned_parameters(),
              copy_.parameters->bytes());
  const auto slots = state().optimizer_arrays();
  for (std::size_t slot = 0; slot < slots.size(); ++slot)
    device.copy(stream(), copy_.slots[slot]->data(), slots[slot].data(), slots[slot].size_bytes());
}

Status Foresight::add(std::int64_t step, StepSum& sum) {
  auto& device = replica_->device();
  const auto& plan = exchange_->plan();
  TROUPE_TRY(auto values, device.allocate(copy_.parameters->bytes(), mail_memory(device)));
  if (foreseen_.empty())
    begin();
  for (std::size_t bucket = 0; bucket < plan.buckets.size(); ++bucket)
    exchange_->apply_to(copy_, plan.buckets[bucket], step, sum.so_far(stream(), bucket),
                        std::max(sum.added(bucket), 1));
  device.copy(stream(), values->data(), copy_.parameters->data(), values->bytes());
  stream().on_complete([values](const Status&) {}); // it lives so long
  foreseen_.push_back(std::move(values));
  return {};
}

} // namespace troupe::engine
