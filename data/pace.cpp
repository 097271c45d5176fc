#include "data/pace.hpp"

#include <algorithm>

namespace troupe::data {

void Pace::begin(int worker, const Lease& lease, double now) {
  workers_[static_cast<std::size_t>(worker)].has.push_back({lease, now});
}

bool Pace::has(int worker, const Lease& lease) const {
  return worker >= 0 && worker < std::ssize(workers_) &&
         std::ranges::count(of(worker).has, lease, &Held::lease) > 0;
}

double Pace::come(int worker, const Lease& lease, double now) {
  constexpr double newest = 0.3; // what it counts in the mean
  auto& by = workers_[static_cast<std::size_t>(worker)];
  const auto held = std::ranges::find(by.has, lease, &Held::lease);
  const double since = held->since, took = now - std::max(since, by.last);
  by.slice = by.slice ? *by.slice + newest * (took - *by.slice) : took;
  by.last = now;
  by.has.erase(held);
  return now - since;
}

std::vector<double> Pace::ends(const Worker& worker, double now) {
  std::vector<double> ends;
  double begin = worker.last;
  for (const auto& held : worker.has) {
    begin = std::max(std::max(begin, held.since) + *worker.slice, now);
    ends.push_back(begin);
  }
  return ends;
}

double Pace::free_at(int worker, double now) const {
  const auto& asked = of(worker);
  return asked.has.empty() || !asked.slice ? now : ends(asked, now).back();
}

std::optional<double> Pace::end_of(std::int64_t step, double now) const {
  double last = now;
  for (const auto& worker : workers_)
    for (std::size_t i = 0; i < worker.has.size(); ++i) {
      if (worker.has[i].lease.step != step)
        continue;
      if (!worker.slice)
        return std::nullopt;
      last = std::max(last, ends(worker, now)[i]);
    }
  return last;
}

double Pace::end_without(int worker, int slices, double now) const {
  std::vector<std::pair<double, double>>
      next; // when each would have done one more, and how long that takes
  for (int other = 0; other < std::ssize(workers_); ++other)
    if (const auto takes = slice(other); takes && other != worker)
      next.emplace_back(free_at(other, now) + *takes, *takes);
  if (next.empty())
    return std::numeric_limits<double>::infinity();
  double end = now;
  for (int dealt = 0; dealt < slices; ++dealt) {
    auto& first = *std::ranges::min_element(next);
    end = std::max(end, first.first);
    first.first += first.second;
  }
  return end;
}

} // namespace troupe::data
