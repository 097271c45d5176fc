#include "cpu/detail/core_threads.hpp"

#include <algorithm>
#include <fstream>
#include <numeric>
#include <sched.h>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace troupe::cpu {

namespace {

std::vector<int> usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> usable;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int processor = 0; processor < CPU_SETSIZE; ++processor)
      if (CPU_ISSET(processor, &set))
        usable.push_back(processor);
  return usable;
}

/// If the system refuses, the thread runs on any processor.
void move_to(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  sched_setaffinity(0, sizeof set, &set);
}

/// Returns false if the system cannot create another thread.
template <class Task>
bool start(std::vector<std::jthread>& threads, Task task) {
  try {
    threads.emplace_back(std::move(task));
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

/// Returns the processors of the core's threads, as the system lists them.
std::string core_of(int processor, const std::filesystem::path& topology) {
  std::ifstream file{topology / ("cpu" + std::to_string(processor)) /
                     "topology/thread_siblings_list"};
  std::string siblings;
  return std::getline(file, siblings) ? siblings : std::to_string(processor);
}

std::vector<int> processors_of_cores() {
  return one_of_each_core(usable_processors(), "/sys/devices/system/cpu");
}

std::size_t limited(int cores, const std::vector<int>& processors) {
  return std::clamp<std::size_t>(processors.size(), 1,
                                 static_cast<std::size_t>(std::max(cores, 1)));
}

} // namespace

std::vector<int> one_of_each_core(const std::vector<int>& processors,
                                  const std::filesystem::path& topology) {
  std::set<std::string> seen;
  std::vector<int> chosen;
  for (const auto processor : processors)
    if (seen.insert(core_of(processor, topology)).second)
      chosen.push_back(processor);
  return chosen;
}

std::size_t measured_cores(int cores) {
  return limited(cores, processors_of_cores());
}

double sum_over_cores(int cores, const std::function<double(std::size_t index)>& measure) {
  const auto processors = processors_of_cores();
  const auto wanted = limited(cores, processors);
  std::vector<double> results(wanted);
  std::size_t started = 0;
  {
    std::vector<std::jthread> threads;
    while (started < wanted && start(threads, [&, i = started] {
             if (!processors.empty())
               move_to(processors[i]);
             results[i] = measure(i);
           }))
      ++started;
  }
  if (started == 0)
    return static_cast<double>(wanted) * measure(0);
  const auto measured = std::accumulate(results.begin(), results.end(), 0.0);
  return measured * static_cast<double>(wanted) / static_cast<double>(started);
}

} // namespace troupe::cpu
