#include "cpu/detail/team.hpp"
#include "cpu/host_stream.hpp"
#include "cpu/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <set>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace troupe;
using namespace troupe::cpu;
using namespace std::chrono_literals;

namespace {

/// Returns false when that takes longer than any machine should need.
bool wait_until(const std::function<bool()>& done) {
  for (int i = 0; i < 60000 && !done(); ++i)
    std::this_thread::sleep_for(1ms);
  return done();
}

/// Counts how often each of n items was processed, and records where ranges began. Functions that
/// threads call must not throw, so the checks follow after the run.
struct Touched {
  explicit Touched(std::size_t n) : items(n), begins(n) {}
  void range(std::size_t begin, std::size_t end) {
    begins[begin] = true;
    for (std::size_t i = begin; i < end; ++i)
      ++items[i];
  }
  bool each_once() const {
    return std::ranges::all_of(items, [](const auto& count) { return count == 1; });
  }
  std::set<std::size_t> cuts() const {
    std::set<std::size_t> found;
    for (std::size_t i = 0; i < begins.size(); ++i)
      if (begins[i])
        found.insert(i);
    return found;
  }

  std::vector<std::atomic<int>> items;
  std::vector<std::atomic<bool>> begins;
};

/// Returns the state of a thread of this process, as the system reports it: S while it sleeps.
char state_of(int thread) {
  std::ifstream file{fmt::format("/proc/self/task/{}/stat", thread)};
  std::string text;
  std::getline(file, text);
  const auto name_end = text.rfind(')');
  return name_end == std::string::npos ? '?' : text[name_end + 2];
}

/// A team of two whose helper is a thread of the test.
class TwoMembers {
public:
  TwoMembers() {
    team_.gather();
    helper_ = std::thread{[this] { team_.serve(1); }};
  }
  ~TwoMembers() {
    team_.dismiss(2);
    helper_.join();
  }
  TwoMembers(const TwoMembers&) = delete;
  TwoMembers& operator=(const TwoMembers&) = delete;

  /// Calls fn(part, lane).
  void run(std::size_t lanes, std::size_t parts, bool in_order,
           std::function<void(std::size_t, std::size_t)> fn) {
    team_.run({parts, lanes, in_order, &fn, [](void* context, std::size_t part, std::size_t lane) {
                 (*static_cast<decltype(fn)*>(context))(part, lane);
               }});
  }

private:
  Team team_{2};
  std::thread helper_;
};

} // namespace

TEST_CASE("parallel_for covers every element once, for any number of threads") {
  for (const int thread_count : {1, 2, 3}) {
    const ThreadScope scope{thread_count};
    for (const std::size_t n : {0u, 1u, 5u, 64u, 1000u, 1027u}) {
      Touched touched{n};
      parallel_for(n, 16, [&](std::size_t begin, std::size_t end) { touched.range(begin, end); });
      REQUIRE(touched.each_once());
      REQUIRE(std::ranges::all_of(touched.cuts(), [](auto begin) { return begin % 16 == 0; }));
    }
  }
}

TEST_CASE("parallel_for_backwards has the ranges of parallel_for, from the end of each thread's") {
  for (const int thread_count : {1, 2, 3}) {
    const ThreadScope scope{thread_count};
    for (const std::size_t n : {0u, 1u, 5u, 64u, 1000u, 1027u}) {
      Touched forwards{n}, backwards{n};
      parallel_for(n, 16, [&](std::size_t begin, std::size_t end) { forwards.range(begin, end); });
      parallel_for_backwards(
          n, 16, [&](std::size_t begin, std::size_t end) { backwards.range(begin, end); });
      REQUIRE(backwards.each_once());
      REQUIRE(backwards.cuts() == forwards.cuts());
    }
  }
  const ThreadScope scope{2};
  const Ranges ranges{1000, 10};
  REQUIRE(ranges.count() == 32);
  CHECK(ranges.mirrored(0) == 15);
  CHECK(ranges.mirrored(15) == 0);
  CHECK(ranges.mirrored(16) == 31);
}

TEST_CASE("the ranges of parallel_for depend only on size, grain and threads") {
  const ThreadScope scope{3};
  const auto cuts = [](bool slow) {
    Touched touched{10000};
    parallel_for(10000, 10, [&](std::size_t begin, std::size_t end) {
      if (slow && begin % 2000 < 500)
        std::this_thread::sleep_for(1ms);
      touched.range(begin, end);
    });
    return touched.cuts();
  };
  const auto expected = cuts(false);
  REQUIRE(expected.size() > 3);
  for (int i = 0; i < 5; ++i)
    REQUIRE(cuts(i % 2 == 0) == expected);
}

TEST_CASE("parts of a delayed thread are done by others") {
  const ThreadScope scope{2};
  std::atomic<int> others = 0;
  std::atomic<bool> all_came = false;
  parallel_parts(12, [&](std::size_t part, std::size_t) {
    if (part == 0)
      all_came = wait_until([&] { return others == 11; });
    else
      ++others;
  });
  REQUIRE(all_came);
}

TEST_CASE("parts of a lane run once, in order and never two at a time") {
  for (const bool at_hand : {false, true}) {
    const ThreadScope scope{3};
    for (const std::size_t lanes : {1u, 2u, 3u, 5u}) {
      std::vector<std::vector<std::size_t>> ran(lanes);
      std::vector<std::atomic<int>> busy(lanes);
      std::atomic<bool> two_at_once = false;
      const auto work = [&] {
        parallel_lanes(lanes, lanes * 7 + 2, [&](std::size_t part, std::size_t lane) {
          two_at_once = two_at_once || ++busy[lane] > 1;
          ran[lane].push_back(part);
          --busy[lane];
        });
      };
      if (at_hand)
        together(work);
      else
        work();
      REQUIRE_FALSE(two_at_once);
      std::vector<std::size_t> all;
      for (const auto& lane : ran)
        all.insert(all.end(), lane.begin(), lane.end());
      REQUIRE(all.size() == lanes * 7 + 2);
      REQUIRE(std::ranges::is_sorted(all));
      REQUIRE(std::ranges::adjacent_find(all) == all.end());
    }
  }
}

TEST_CASE("nested calls within a part run on its own thread") {
  const ThreadScope scope{2};
  std::atomic<int> elsewhere = 0, items = 0;
  together([&] {
    parallel_parts(6, [&](std::size_t, std::size_t) {
      const auto thread = std::this_thread::get_id();
      parallel_for(100, 1, [&](std::size_t begin, std::size_t end) {
        elsewhere += std::this_thread::get_id() == thread ? 0 : 1;
        items += static_cast<int>(end - begin);
      });
    });
  });
  REQUIRE(elsewhere == 0);
  REQUIRE(items == 600);
}

TEST_CASE("a thread team does not wait for a helper that has not started") {
  Team team{2};
  team.gather(); // no helper serves
  std::vector<int> done(10, 0);
  const auto work = [](void* context, std::size_t part, std::size_t) {
    ++(*static_cast<std::vector<int>*>(context))[part];
  };
  for (const bool in_order : {false, true})
    team.run({10, 2, in_order, &done, work});
  team.dismiss(2);
  REQUIRE(std::ranges::all_of(done, [](int count) { return count == 2; }));
}

TEST_CASE("a helper that loses its core finishes its part on the primary's core, which continues") {
  const int primary = gettid();
  std::vector<std::atomic<int>> by(8);
  std::atomic<bool> helper_began = false, met = false, primary_slept = false;
  TwoMembers members;
  members.run(2, 8, true, [&](std::size_t part, std::size_t) {
    by[part] = gettid();
    if (part == 0 && by[part] == primary) {
      met = wait_until([&] { return helper_began.load(); });
    } else if (part == 4 && by[part] != primary) {
      helper_began = true;
      // Equivalent to a displaced primary: it has finished its lane, and then sleeps.
      primary_slept = wait_until([&] { return by[3] == primary && state_of(primary) == 'S'; });
    }
  });
  REQUIRE(met);
  REQUIRE(primary_slept);
  REQUIRE(by[4] != primary);
  for (const std::size_t part : {5u, 6u, 7u})
    REQUIRE(by[part] == primary);

  cpu_set_t all, helpers;
  REQUIRE(sched_getaffinity(primary, sizeof(all), &all) == 0);
  REQUIRE(wait_until([&] {
    return sched_getaffinity(by[4], sizeof(helpers), &helpers) == 0 &&
           CPU_COUNT(&helpers) >= std::max(CPU_COUNT(&all) - 1, 1);
  }));
}

TEST_CASE("each stream has its own number of threads") {
  HostStream one{{"one", 1}}, three{{"three", 3}};
  int in_one = 0, in_three = 0;
  std::atomic<int> items = 0;
  one.enqueue([&]() -> Status {
    in_one = threads();
    return {};
  });
  three.enqueue([&]() -> Status {
    parallel_for(300, 1, [&](std::size_t begin, std::size_t end) {
      items += static_cast<int>(end - begin);
    });
    in_three = threads();
    return {};
  });
  REQUIRE(one.synchronize());
  REQUIRE(three.synchronize());
  REQUIRE(in_one == 1);
  REQUIRE(in_three == 3);
  REQUIRE(items == 300);
}

TEST_CASE("a stream releases its thread team for tasks of the library") {
  HostStream stream{{"both", 2}};
  std::vector<bool> apart;
  const auto look = [&]() -> Status {
    // Inside an OpenMP region the library would use one thread.
    apart.push_back(!inside_team());
    return {};
  };
  stream.enqueue(look);
  stream.enqueue_for_library(look);
  stream.enqueue_for_library(look);
  stream.enqueue(look);
  REQUIRE(stream.synchronize());
  REQUIRE(apart == std::vector{false, true, true, false});
}
