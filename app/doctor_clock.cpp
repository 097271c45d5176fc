#include "app/doctor.hpp"

#include <fmt/format.h>

#include <sys/timex.h>
#include <time.h>

namespace troupe::app {

Findings clock_findings() {
  timespec resolution = {};
  clock_getres(CLOCK_MONOTONIC, &resolution);
  Finding steady{
      "clock", "steady",
      fmt::format("resolution {} ns", resolution.tv_sec * 1000000000 + resolution.tv_nsec)};
  timex state = {};
  const int answer = adjtimex(&state); // modes = 0: only reads
  Finding wall{"clock", "synchronized", "", Finding::State::good};
  if (answer == -1 || answer == TIME_ERROR || (state.status & STA_UNSYNC) != 0) {
    wall.value = "unknown; log times may differ between hosts";
    wall.state = Finding::State::absent;
  } else {
    wall.value = fmt::format("yes, error at most {} us", state.maxerror);
  }
  return {steady, wall};
}

} // namespace troupe::app
