#include "ledger.hpp"

namespace troupe::data {

std::optional<Lease> Ledger::deal() {
  if (next_.step >= limit_)
    return std::nullopt;
  const auto lease = next_;
  if (lease.slice == 0)
    missing_.push_back(slices_);
  if (++next_.slice == slices_)
    next_ = {lease.step + 1};
  ++under_way_;
  return lease;
}

bool Ledger::come(const Lease& lease) {
  --under_way_;
  return --missing_[static_cast<std::size_t>(lease.step - applied_)] == 0;
}

void Ledger::apply() {
  missing_.pop_front();
  ++applied_;
}

} // namespace troupe::data
