#include "data/slice_dealer.hpp"

#include <algorithm>

namespace troupe::data {

SliceDealer::SliceDealer(const SliceDealing& options)
    : patience_{options.patience}, ledger_{options.slices, options.first_step},
      pace_{options.workers} {}

std::optional<Lease> SliceDealer::deal(int worker, double now) {
  const auto step = step_for(worker, now);
  if (!step || waits(worker, *step, now))
    return std::nullopt;
  waiting_.erase(worker);
  const auto lease = ledger_.deal(*step);
  pace_.begin(worker, lease, now);
  return lease;
}

double SliceDealer::come(int worker, const Lease& lease, double now) {
  ledger_.come(lease);
  return pace_.come(worker, lease, now);
}

/// The first step for which it is not late; where it is for all, the last one.
std::optional<std::int64_t> SliceDealer::step_for(int worker, double now) const {
  std::optional<std::int64_t> last;
  int before = 0;
  for (auto step = ledger_.applied(); step < ledger_.limit(); ++step) {
    const auto left = ledger_.left(step);
    if (left == 0)
      continue;
    last = step;
    before += left;
    if (!is_late(worker, before, now))
      break;
  }
  return last;
}

bool SliceDealer::is_late(int worker, int slices, double now) const {
  const auto takes = pace_.slice(worker);
  return takes && pace_.free_at(worker, now) + (1 - patience_) * *takes >
                      pace_.end_without(worker, slices, now);
}

bool SliceDealer::waits(int worker, std::int64_t step, double now) {
  const auto first = ledger_.applied();
  const auto takes = pace_.slice(worker);
  const auto end = pace_.end_of(first, now);
  if (step == first || ledger_.left(first) > 0 || !takes || !end)
    return false;
  const auto free = pace_.free_at(worker, now), most = patience_ * *takes;
  if (*end - free >= most)
    return false;
  return now < waiting_.try_emplace(worker, free + most).first->second;
}

std::optional<double> SliceDealer::again(double now) const {
  std::optional<double> first;
  for (const auto& [worker, until] : waiting_)
    if (until > now)
      first = std::min(first.value_or(until), until);
  return first;
}

} // namespace troupe::data
