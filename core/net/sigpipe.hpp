/// For libraries that write to sockets whose other end may be gone, which would end the process.
#pragma once

#include <csignal>
#include <ctime>

namespace troupe::net {

/// SIGPIPE does not reach this thread, nor those that it starts meanwhile: a write fails instead.
/// What the process does with the signal elsewhere is not touched.
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
      } // one that came meanwhile would be delivered now
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;

private:
  sigset_t pipe_ = {}, before_ = {};
};

} // namespace troupe::net
