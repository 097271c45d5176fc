#include "core/config/notes.hpp"

#include "core/config/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace troupe {

std::vector<std::string> config_notes(const Config& config, const Catalogue& catalogue) {
  auto notes = config.notes;
  if (catalogue.notes)
    std::ranges::move(catalogue.notes(config), std::back_inserter(notes));
  return notes;
}

std::string thread_warning(const DevicesConfig& devices, std::int64_t cores) {
  const auto threads = devices.count * devices.threads_per_worker;
  if (devices.threads_per_worker <= 1 || threads <= cores)
    return {};
  return fmt::format("devices.threads_per_worker: {} threads share {} core{}: threads that wait "
                     "for each other occupy the cores that others need to compute, which can make "
                     "a step hundreds of times slower (on 2 cores, 64 threads took 24.9 s for a "
                     "step that takes 2 threads 0.05 s); set it to 0 or at most {}",
                     threads, cores, cores == 1 ? "" : "s",
                     std::max<std::int64_t>(1, cores / devices.count));
}

} // namespace troupe
