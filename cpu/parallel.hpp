/// Threads of the host's kernels. oneDNN brings OpenMP teams along, and two kinds of worker threads
/// would spin against each other; so our own kernels run on the same threads, and only from here.
///
/// Work is cut into more parts than there are threads, and threads take parts as they come free:
/// one that has lost its core to another process holds up nobody (docs/adr/0018). How work is cut
/// depends on its size, the grain and threads() alone, and the result of a part does not depend on
/// the thread that takes it. Functions that are called for parts do not throw.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

namespace troupe::cpu {

/// How many threads kernels called from this thread use from now on.
void set_threads(int threads);
int threads();

/// Sets the number of threads and gives it back in the end.
class ThreadScope {
public:
  explicit ThreadScope(int count) : before_{threads()} { set_threads(count); }
  ~ThreadScope() { set_threads(before_); }
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

private:
  int before_;
};

struct Work;

namespace detail {
void run_work(const Work& work);
void run_together(void* context, void (*function)(void* context));

template <class Fn>
void* address_of(Fn& fn) {
  return const_cast<void*>(static_cast<const void*>(&fn));
}
} // namespace detail

/// What threads do together: function(context, part, lane) for each of `parts`. Lanes are ranges of
/// parts that follow each other: parts * lane / lanes is the first one of a lane.
struct Work {
  std::size_t parts, lanes;
  bool in_order; ///< parts of a lane one after the other, never two at once
  void* context;
  void (*function)(void* context, std::size_t part, std::size_t lane);
};

/// Keeps the team's threads at hand while fn() runs on this one, so that beginning and ending work
/// takes less. Anything else in there that uses OpenMP has one thread.
template <class Fn>
void together(Fn&& fn) {
  detail::run_together(detail::address_of(fn), [](void* context) {
    (*static_cast<std::remove_reference_t<Fn>*>(context))();
  });
}

/// Whether this thread works in a team: what else divides work among OpenMP's threads has one only.
bool inside_team();

/// Calls fn(part, lane) for every part; those of a lane in order, and never two at once. So a lane
/// may have sums and memory of its own.
template <class Fn>
void parallel_lanes(std::size_t lanes, std::size_t parts, Fn&& fn) {
  detail::run_work({parts, lanes, true, detail::address_of(fn),
                    [](void* context, std::size_t part, std::size_t lane) {
                      (*static_cast<std::remove_reference_t<Fn>*>(context))(part, lane);
                    }});
}

/// Calls fn(part, parts) for every part, in any order.
template <class Fn>
void parallel_parts(std::size_t parts, Fn&& fn) {
  const auto call = [&](std::size_t part) { fn(part, parts); };
  detail::run_work({parts, std::min(parts, static_cast<std::size_t>(threads())), false,
                    detail::address_of(call), [](void* context, std::size_t part, std::size_t) {
                      (*static_cast<decltype(call)*>(context))(part);
                    }});
}

/// Into how many parts of whole grains n items are cut for sums, one part a thread: depends on n,
/// grain and threads() alone, so that sums over parts come out the same every time.
std::size_t parts_of(std::size_t n, std::size_t grain);

/// Calls fn(begin, end) on ranges that together are 0..n, some for each thread; ranges begin at
/// multiples of grain.
template <class Fn>
void parallel_for(std::size_t n, std::size_t grain, Fn&& fn) {
  constexpr std::size_t parts_of_thread = 16;
  const std::size_t grains = (n + grain - 1) / grain;
  const auto team = static_cast<std::size_t>(threads());
  const std::size_t most = team > 1 ? parts_of_thread * team : 1;
  parallel_parts(std::min(grains, most), [&](std::size_t part, std::size_t parts) {
    const std::size_t begin = grains * part / parts * grain;
    const std::size_t end = grains * (part + 1) / parts * grain;
    fn(begin, end < n ? end : n);
  });
}

} // namespace troupe::cpu
