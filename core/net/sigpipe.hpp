/// Protects the process from libraries that write to closed sockets: SIGPIPE would end it.
#pragma once

#include <csignal>
#include <ctime>

namespace troupe::net {

/// Blocks SIGPIPE for this thread and the threads it starts during the lifetime: a write fails
/// instead. Does not change how the process handles the signal elsewhere.
class NoSigpipe {
public:
  NoSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoSigpipe() {
    const timespec at_once = {};
    if (!sigismember(&before_, SIGPIPE))
      while (sigtimedwait(&pipe_, nullptr, &at_once) == SIGPIPE) {
      } // discards a signal that is pending: it would be delivered below
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;

private:
  sigset_t pipe_ = {}, before_ = {};
};

} // namespace troupe::net
