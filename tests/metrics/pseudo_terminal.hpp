/// A pseudo-terminal whose other end belongs to the test.
#pragma once

#include <array>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace troupe::testing {

class PseudoTerminal {
public:
  explicit PseudoTerminal(unsigned short columns) {
    const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    if (::openpty(&own_, &programs_, nullptr, nullptr, &size) != 0)
      throw std::runtime_error("cannot open a pseudo-terminal");
  }
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;
  ~PseudoTerminal() {
    ::close(own_);
    ::close(programs_);
  }

  void resize(unsigned short columns) {
    const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    if (::ioctl(programs_, TIOCSWINSZ, &size) != 0)
      throw std::runtime_error("cannot resize the pseudo-terminal");
  }

  /// Returns the descriptor that a program writes to.
  int descriptor() const { return programs_; }

  /// Returns all output written so far.
  std::string read() const {
    std::string text;
    std::array<char, 4096> piece{};
    for (pollfd waiting{.fd = own_, .events = POLLIN, .revents = 0};
         ::poll(&waiting, 1, 50) == 1;) {
      const auto count = ::read(own_, piece.data(), piece.size());
      if (count <= 0)
        break;
      text.append(piece.data(), static_cast<std::size_t>(count));
    }
    return text;
  }

private:
  int own_ = -1, programs_ = -1;
};

} // namespace troupe::testing
