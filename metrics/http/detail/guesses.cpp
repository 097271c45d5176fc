#include "metrics/http/detail/guesses.hpp"

#include <algorithm>

namespace troupe::metrics {

namespace {

using namespace std::chrono_literals;

std::chrono::seconds wait_after(int wrong) {
  constexpr auto longest = 60s;
  const int doublings = wrong - Guesses::free;
  if (doublings < 0)
    return 0s;
  return doublings < 5 ? 2s * (1 << doublings) : longest;
}

} // namespace

std::chrono::seconds Guesses::wait(const std::string& address, Clock::time_point now) const {
  const auto found = addresses_.find(address);
  if (found == addresses_.end() || found->second.until <= now)
    return 0s;
  return std::chrono::ceil<std::chrono::seconds>(found->second.until - now);
}

void Guesses::note_wrong(const std::string& address, Clock::time_point now) {
  if (!addresses_.contains(address))
    make_room();
  auto& wrong = addresses_[address];
  wrong.until = now + wait_after(++wrong.count);
}

/// Forgets the address with the earliest end of its wait.
void Guesses::make_room() {
  if (addresses_.size() < most_addresses)
    return;
  addresses_.erase(std::ranges::min_element(addresses_, {},
                                            [](const auto& known) { return known.second.until; }));
}

} // namespace troupe::metrics
