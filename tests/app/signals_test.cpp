#include "app/signals.hpp"

#include <catch2/catch_test_macros.hpp>

#include <atomic>
#include <future>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace troupe::app;
using namespace std::chrono_literals;

namespace {

/// Returns the exit code of a child that runs `body`, or 99 when `body` returns.
template <class Body>
int exit_code_of(Body body) {
  const auto child = fork();
  if (child == 0) {
    dup2(STDOUT_FILENO, STDERR_FILENO);
    body();
    _exit(99);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

} // namespace

TEST_CASE("the first signal requests a drain, once") {
  StopSignals signals{60s};
  std::atomic<int> calls = 0;
  std::promise<void> called;
  signals.on_stop([&] {
    if (++calls == 1)
      called.set_value();
  });
  kill(getpid(), SIGTERM);
  REQUIRE(called.get_future().wait_for(10s) == std::future_status::ready);
  CHECK(calls == 1);
}

TEST_CASE("a signal before the node runtime exists drains it once it does") {
  StopSignals signals{60s};
  kill(getpid(), SIGINT);
  std::promise<void> called;
  auto drained = called.get_future();
  // The drain is requested whether or not the watcher has seen the signal already.
  signals.on_stop([&] { called.set_value(); });
  CHECK(drained.wait_for(10s) == std::future_status::ready);
  signals.on_stop({});
}

TEST_CASE("without a signal no drain is requested") {
  bool called = false;
  {
    StopSignals signals{60s};
    signals.on_stop([&] { called = true; });
  }
  CHECK(!called);
}

TEST_CASE("a second signal ends the process at once") {
  const auto code = exit_code_of([] {
    StopSignals signals{60s};
    signals.on_stop([] {
      std::this_thread::sleep_for(1100ms);
      kill(getpid(), SIGTERM);
    });
    kill(getpid(), SIGTERM);
    std::this_thread::sleep_for(20s);
  });
  CHECK(code == 1);
}

TEST_CASE("two simultaneous signals count as one") {
  const auto code = exit_code_of([] {
    sigset_t both;
    sigemptyset(&both);
    sigaddset(&both, SIGTERM);
    sigaddset(&both, SIGINT);
    sigprocmask(SIG_BLOCK, &both, nullptr);
    kill(getpid(), SIGTERM);
    kill(getpid(), SIGINT);
    StopSignals signals{60s};
    while (signals.received() == 0)
      std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(200ms);
    _exit(0);
  });
  CHECK(code == 0);
}

TEST_CASE("SIGHUP, SIGUSR1 and SIGUSR2 request a drain") {
  for (const int signal : {SIGHUP, SIGUSR1, SIGUSR2}) {
    CAPTURE(signal);
    const auto code = exit_code_of([signal] {
      StopSignals signals{60s};
      kill(getpid(), signal);
      while (signals.received() != signal)
        std::this_thread::sleep_for(1ms);
      _exit(0);
    });
    CHECK(code == 0);
  }
}

TEST_CASE("a signal that was ignored at startup stays ignored") {
  for (const int ignored : {SIGHUP, SIGUSR1}) {
    CAPTURE(ignored);
    const auto code = exit_code_of([ignored] {
      signal(ignored, SIG_IGN);
      StopSignals signals{60s};
      kill(getpid(), ignored);
      kill(getpid(), SIGUSR2);
      while (signals.received() == 0)
        std::this_thread::sleep_for(1ms);
      _exit(signals.received() == SIGUSR2 ? 0 : 1);
    });
    CHECK(code == 0);
  }
}

TEST_CASE("after the drain the timeout no longer applies, and the signal is known") {
  const auto code = exit_code_of([] {
    {
      StopSignals signals{50ms};
      signals.drained();
      kill(getpid(), SIGINT);
      while (signals.received() != SIGINT)
        std::this_thread::sleep_for(1ms);
      std::this_thread::sleep_for(200ms);
    }
    _exit(0);
  });
  CHECK(code == 0);
}

TEST_CASE("a drain that takes too long ends the process") {
  const auto code = exit_code_of([] {
    StopSignals signals{50ms};
    signals.on_stop([] {});
    kill(getpid(), SIGTERM);
    std::this_thread::sleep_for(20s);
  });
  CHECK(code == 1);
}
