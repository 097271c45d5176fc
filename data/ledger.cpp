#include "data/ledger.hpp"

namespace troupe::data {

int Ledger::left(std::int64_t step) const {
  const auto place = place_of(step);
  return place < steps_.size() ? slices_ - steps_[place].dealt : slices_;
}

Lease Ledger::deal(std::int64_t step) {
  const auto place = place_of(step);
  if (place >= steps_.size())
    steps_.resize(place + 1);
  return {.step = step, .slice = steps_[place].dealt++};
}

bool Ledger::come(const Lease& lease) {
  return ++steps_[place_of(lease.step)].come == slices_;
}

void Ledger::apply() {
  steps_.pop_front();
  ++applied_;
}

} // namespace troupe::data
