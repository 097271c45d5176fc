#include "parallel.hpp"

#include <algorithm>
#include <omp.h>

#if defined(__SANITIZE_THREAD__)
// libgomp is not instrumented: ThreadSanitizer does not see that a team forks and joins.
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#define TROUPE_NOT_INSTRUMENTED __attribute__((no_sanitize("thread")))
#else
#define __tsan_acquire(address) static_cast<void>(address)
#define __tsan_release(address) static_cast<void>(address)
#define TROUPE_NOT_INSTRUMENTED
#endif

namespace troupe::cpu {

void set_threads(int threads) {
  omp_set_num_threads(std::max(threads, 1));
}

int threads() {
  return omp_get_max_threads();
}

std::size_t parts_of(std::size_t n, std::size_t grain) {
  const std::size_t grains = (n + grain - 1) / grain;
  return std::clamp<std::size_t>(grains, 1, static_cast<std::size_t>(threads()));
}

namespace detail {

namespace {

struct Team {
  std::size_t parts;
  void* context;
  PartFunction function;
  char fork = 0, join = 0; ///< only their addresses are used
};

/// A team may come out smaller than asked for; the parts do not.
void run_share(Team& team, std::size_t thread, std::size_t threads) {
  __tsan_acquire(&team.fork);
  for (std::size_t part = thread; part < team.parts; part += threads)
    team.function(team.context, part, team.parts);
  __tsan_release(&team.join);
}

// What the compiler makes of the region reads the team's address before it can be acquired.
TROUPE_NOT_INSTRUMENTED void fork_and_join(Team& team) {
  Team* const shared = &team;
#pragma omp parallel num_threads(static_cast <int>(shared->parts)) default(none) shared(shared)
  run_share(*shared, static_cast<std::size_t>(omp_get_thread_num()),
            static_cast<std::size_t>(omp_get_num_threads()));
}

} // namespace

void run_parts(std::size_t parts, void* context, PartFunction function) {
  if (parts <= 1) {
    function(context, 0, 1);
    return;
  }
  Team team{parts, context, function};
  __tsan_release(&team.fork);
  fork_and_join(team);
  __tsan_acquire(&team.join);
}

} // namespace detail
} // namespace troupe::cpu
