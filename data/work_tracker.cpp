#include "data/work_tracker.hpp"

namespace troupe::data {

int WorkTracker::left(std::int64_t step) const {
  const auto place = place_of(step);
  return place < steps_.size() ? slices_ - steps_[place].assigned : slices_;
}

WorkItem WorkTracker::assign(std::int64_t step) {
  const auto place = place_of(step);
  if (place >= steps_.size())
    steps_.resize(place + 1);
  return {.step = step, .slice = steps_[place].assigned++};
}

bool WorkTracker::complete(const WorkItem& item) {
  return ++steps_[place_of(item.step)].complete == slices_;
}

void WorkTracker::apply() {
  steps_.pop_front();
  ++applied_;
}

} // namespace troupe::data
