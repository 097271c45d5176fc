#include "metrics/console/detail/screen.hpp"

#include "core/net/descriptor.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include <sys/ioctl.h>
#include <unistd.h>

namespace troupe::metrics {

namespace {

/// A bar with the cursor at its start. A terminal that becomes narrower may wrap the line and moves
/// the cursor to its first part, from which all parts can be erased. Disables the automatic margin
/// while writing: if the terminal becomes narrower now, the rest is clipped instead of wrapped.
std::string drawn(std::string_view bar) {
  return bar.empty() ? "" : "\033[?7l" + std::string(bar) + "\r\033[?7h";
}

bool can_rewrite_lines(int descriptor) {
  const char* terminal = std::getenv("TERM");
  return ::isatty(descriptor) == 1 && terminal && std::string_view(terminal) != "dumb";
}

} // namespace

Screen::Screen(int out, int err, Lost lost)
    : out_(out), err_(err), has_bar_(can_rewrite_lines(out)), lost_(std::move(lost)) {}

Screen::~Screen() {
  const std::lock_guard lock(mutex_);
  erase_bar();
}

/// Does not fail on a full disk or closed pipe: the run continues.
void Screen::write(int descriptor, std::string_view text) {
  if (!net::write_all(descriptor, text) && descriptor == out_ && lost_)
    lost_(errno);
}

int Screen::width() const {
  winsize size{};
  return ::ioctl(out_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void Screen::write_line(Target target, std::string_view line) {
  const std::lock_guard lock(mutex_);
  erase_bar();
  write(target == Target::out ? out_ : err_, std::string(line) + "\n");
  write(out_, drawn(bar_));
}

void Screen::show_bar(std::string_view bar) {
  const std::lock_guard lock(mutex_);
  // Leaves the last column free: some terminals wrap as soon as it is written.
  const auto fitting = bar.substr(0, static_cast<std::size_t>(std::max(1, width() - 1)));
  if (!has_bar_ || fitting == bar_)
    return;
  erase_bar();
  bar_ = fitting;
  write(out_, drawn(bar_));
}

/// Also erases everything below, which includes the parts of a wrapped bar.
void Screen::erase_bar() {
  if (!bar_.empty())
    write(out_, "\r\033[J");
}

} // namespace troupe::metrics
