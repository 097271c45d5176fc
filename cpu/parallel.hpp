/// Threads of the host's kernels. oneDNN brings OpenMP teams, and two kinds of worker threads would
/// spin against each other. Our kernels therefore run on the same threads, and only through this
/// header.
///
/// Work is divided into more parts than there are threads, and threads take parts as they become
/// free: a thread that has lost its core to another process does not delay the others
/// (docs/adr/0018). The division depends only on the size, the grain and threads(), and the result
/// of a part does not depend on the thread that takes it: it runs with the floating-point mode of
/// the thread that supplied the work (flush_denormals.hpp). Functions called for parts must not
/// throw.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

namespace troupe::cpu {

/// Sets the number of threads of kernels called from this thread.
void set_threads(int threads);
int threads();

/// Sets the number of threads, and restores it at the end.
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

/// Work for several threads: function(context, part, lane) for each of `parts`. Lanes are ranges of
/// consecutive parts: a lane's first part is parts * lane / lanes.
struct Work {
  std::size_t parts, lanes;
  bool in_order; ///< parts of a lane run one after the other, never concurrently
  void* context;
  void (*function)(void* context, std::size_t part, std::size_t lane);
};

/// Keeps the team's threads ready while fn() runs on this one, so that work begins and ends faster.
/// Other users of OpenMP inside fn() have one thread.
template <class Fn>
void together(Fn&& fn) {
  detail::run_together(detail::address_of(fn), [](void* context) {
    (*static_cast<std::remove_reference_t<Fn>*>(context))();
  });
}

/// Calls fn once on each thread that primitives of the library run on when this one calls them. Not
/// for use inside a team.
void on_library_threads(void (*fn)());

/// Whether this thread works in a team; other users of OpenMP then have only one thread.
bool inside_team();

/// Calls fn(part, lane) for every part; those of a lane in order and never concurrently. A lane can
/// therefore have its own sums and memory.
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

/// A grain of element-wise work: with one operation each, fewer elements are not worth waking a
/// thread.
inline constexpr std::size_t elementwise_grain = 16384;

/// Returns the number of parts, of whole grains, that n items are divided into for sums: one part a
/// thread. Depends only on n, grain and threads(), so that sums over parts are reproducible.
std::size_t parts_of(std::size_t n, std::size_t grain);

/// n items in several ranges for each thread, which begin at multiples of grain.
class Ranges {
public:
  Ranges(std::size_t n, std::size_t grain)
      : n_{n}, grain_{grain}, grains_{(n + grain - 1) / grain}, team_{static_cast<std::size_t>(
                                                                    threads())} {
    constexpr std::size_t of_thread = 16;
    count_ = std::min(grains_, team_ > 1 ? of_thread * team_ : 1);
  }

  std::size_t count() const { return count_; }
  std::size_t begin(std::size_t range) const {
    return std::min(grains_ * range / count_ * grain_, n_);
  }
  /// Returns the range at the same distance from the other end of the same thread's ranges.
  std::size_t mirrored(std::size_t range) const {
    const std::size_t lanes = std::min(count_, team_), lane = ((range + 1) * lanes - 1) / count_;
    return count_ * lane / lanes + count_ * (lane + 1) / lanes - 1 - range;
  }

private:
  std::size_t n_, grain_, grains_, team_, count_;
};

/// Calls fn(begin, end) on ranges that together are 0..n, several for each thread; ranges begin at
/// multiples of grain.
template <class Fn>
void parallel_for(std::size_t n, std::size_t grain, Fn&& fn) {
  const Ranges ranges{n, grain};
  parallel_parts(ranges.count(), [&](std::size_t range, std::size_t) {
    fn(ranges.begin(range), ranges.begin(range + 1));
  });
}

/// As parallel_for, but each thread begins with its last range: what was read or written in order
/// before is still in the cache there.
template <class Fn>
void parallel_for_backwards(std::size_t n, std::size_t grain, Fn&& fn) {
  const Ranges ranges{n, grain};
  parallel_parts(ranges.count(), [&](std::size_t part, std::size_t) {
    const std::size_t range = ranges.mirrored(part);
    fn(ranges.begin(range), ranges.begin(range + 1));
  });
}

} // namespace troupe::cpu
