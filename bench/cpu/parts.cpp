// A control for bench/cpu/contended: a multi-threaded program whose threads take independent parts
// of a loop, so a neighbour costs it only the processor time that the system gives to the
// neighbour.
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

/// Takes some ten microseconds, in registers only.
std::uint64_t part(std::uint64_t number) {
  std::uint64_t x = number | 1;
  for (int i = 0; i < 10000; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
  }
  return x;
}

/// Returns parts per second.
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
  others.clear(); // joins
  return static_cast<double>(taken) / seconds_since(start);
}

} // namespace

int main(int argc, char** argv) {
  int threads = 2;
  CLI::App app{"Reads a number of seconds from each line of standard input, takes parts of a loop "
               "for that long, and prints the parts per second on a line"};
  app.add_option("--threads", threads);
  CLI11_PARSE(app, argc, argv);
  for (double seconds = 0; std::cin >> seconds;) {
    fmt::print("{:.6f}\n", rate(threads, seconds));
    std::fflush(stdout);
  }
}
