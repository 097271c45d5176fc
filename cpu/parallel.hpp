/// Threads of the host's kernels. oneDNN brings OpenMP teams along, and two kinds of worker threads
/// would spin against each other; so our own kernels run on the same teams, and only from here.
#pragma once

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

namespace detail {
using PartFunction = void (*)(void* context, std::size_t part, std::size_t parts);
void run_parts(std::size_t parts, void* context, PartFunction function);
} // namespace detail

/// Calls fn(part, parts) for every part, at most one thread a part; parts <= threads().
template <class Fn>
void parallel_parts(std::size_t parts, Fn&& fn) {
  using Function = std::remove_reference_t<Fn>;
  detail::run_parts(parts, const_cast<void*>(static_cast<const void*>(&fn)),
                    [](void* context, std::size_t part, std::size_t count) {
                      (*static_cast<Function*>(context))(part, count);
                    });
}

/// Into how many parts parallel_for cuts n items: depends on n, grain and threads() alone, so that
/// sums over parts come out the same every time.
std::size_t parts_of(std::size_t n, std::size_t grain);

/// Calls fn(begin, end) on one range of 0..n per thread; ranges begin at multiples of grain.
template <class Fn>
void parallel_for(std::size_t n, std::size_t grain, Fn&& fn) {
  parallel_parts(parts_of(n, grain), [&](std::size_t part, std::size_t parts) {
    const std::size_t grains = (n + grain - 1) / grain;
    const std::size_t begin = grains * part / parts * grain;
    const std::size_t end = grains * (part + 1) / parts * grain;
    if (begin < n)
      fn(begin, end < n ? end : n);
  });
}

} // namespace troupe::cpu
