// A program of several threads that loses nothing to a neighbour but what the system gives it: each
// takes parts of a loop that have nothing to do with each other. bench/cpu/contended's control.
#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fmt/format.h>
#include <iostream>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Some ten microseconds in registers alone.
std::uint64_t part(std::uint64_t number) {
  std::uint64_t x = number | 1;
  for (int i = 0; i < 10000; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
  }
  return x;
}

/// Parts in a second.
double rate(int threads, double seconds) {
  std::atomic<std::uint64_t> taken = 0, sum = 0;
  const auto start = Clock::now();
  const auto work = [&] {
    while (seconds_since(start) < seconds)
      sum += part(taken++);
  };
  std::vector<std::jthread> others;
  for (int i = 1; i < threads; ++i)
    others.emplace_back(work);
  work();
  others.clear(); // joined
  return static_cast<double>(taken) / seconds_since(start);
}

} // namespace

int main(int argc, char** argv) {
  int threads = 2;
  CLI::App app{"Each line of the standard input is a number of seconds to take parts of a loop "
               "for; each line of the "
               "output the parts in a second"};
  app.add_option("--threads", threads);
  CLI11_PARSE(app, argc, argv);
  for (double seconds = 0; std::cin >> seconds;) {
    fmt::print("{:.6f}\n", rate(threads, seconds));
    std::fflush(stdout);
  }
}
