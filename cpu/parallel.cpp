#include "cpu/parallel.hpp"

#include "cpu/detail/team.hpp"

#include <algorithm>
#include <memory>
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

TROUPE_NOT_INSTRUMENTED void on_library_threads(void (*fn)()) {
#pragma omp parallel num_threads(omp_get_max_threads()) default(none) shared(fn)
  fn();
}

bool inside_team() {
  return omp_in_parallel() != 0;
}

std::size_t parts_of(std::size_t n, std::size_t grain) {
  const std::size_t grains = (n + grain - 1) / grain;
  return std::clamp<std::size_t>(grains, 1, static_cast<std::size_t>(threads()));
}

namespace detail {

namespace {

/// A thread's state in teams.
struct Membership {
  std::unique_ptr<Team> team; ///< the team whose primary is this thread
  std::size_t members = 0;
  bool leads = false; ///< the team is gathered and ready
};

/// Each thread has its own, because each has its own OpenMP team.
Membership& membership() {
  thread_local Membership mine;
  return mine;
}

/// State shared by a team's threads while it is gathered.
struct Session {
  Team* team;
  int threads;
  void* context;
  void (*function)(void* context);
  char fork = 0, join = 0; ///< only their addresses are used
};

void lead(Session& session) {
  auto& mine = membership();
  mine.leads = true;
  session.function(session.context);
  mine.leads = false;
  // clang-tidy believes that membership() ends the thread's own state.
  // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDelete)
  session.team->dismiss(static_cast<std::size_t>(omp_get_num_threads()));
}

void join_in(Session& session) {
  __tsan_acquire(&session.fork);
  if (omp_get_thread_num() == 0)
    lead(session);
  else
    session.team->serve(static_cast<std::size_t>(omp_get_thread_num()));
  __tsan_release(&session.join);
}

// The region's compiled code reads the session's address before it can be acquired.
TROUPE_NOT_INSTRUMENTED void fork_and_join(Session& session) {
  Session* const shared = &session;
#pragma omp parallel num_threads(shared->threads) default(none) shared(shared)
  join_in(*shared);
}

Team& own_team() {
  auto& mine = membership();
  const auto members = static_cast<std::size_t>(threads());
  if (mine.members != members) {
    mine.team = std::make_unique<Team>(members);
    mine.members = members;
  }
  return *mine.team;
}

void run_alone(const Work& work) {
  for (std::size_t lane = 0; lane < work.lanes; ++lane)
    for (std::size_t part = work.parts * lane / work.lanes;
         part < work.parts * (lane + 1) / work.lanes; ++part)
      work.function(work.context, part, lane);
}

/// While parts run, a nested call runs only on its calling thread.
void run_as_primary(Membership& mine, const Work& work) {
  mine.leads = false;
  mine.team->run(work);
  mine.leads = true;
}

} // namespace

void run_together(void* context, void (*function)(void* context)) {
  if (threads() <= 1 || inside_team())
    return function(context);
  Session session{&own_team(), threads(), context, function};
  session.team->gather();
  __tsan_release(&session.fork);
  fork_and_join(session);
  __tsan_acquire(&session.join);
}

void run_work(const Work& work) {
  auto& mine = membership();
  if (work.parts <= 1 || threads() <= 1 || (inside_team() && !mine.leads))
    return run_alone(work);
  if (mine.leads)
    return run_as_primary(mine, work);
  together([&] { run_as_primary(mine, work); });
}

} // namespace detail
} // namespace troupe::cpu
