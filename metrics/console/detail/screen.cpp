#include "metrics/console/detail/screen.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include <sys/ioctl.h>
#include <unistd.h>

namespace troupe::metrics {

namespace {

/// False: errno says why.
bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const auto count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

/// A bar in its line, with the cursor in front of it: a terminal that becomes narrow may break the
/// line, and then takes the cursor to the first piece, from where all of them can be erased. Should
/// it become narrow just now, the rest is clipped (no automatic margin) instead of going on below.
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

/// A full disk or a closed pipe behind stdout is no reason to end a run.
void Screen::write(int descriptor, std::string_view text) {
  if (!write_all(descriptor, text) && descriptor == out_ && lost_)
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
  // The last column stays free: some terminals go on to the next line when it is written.
  const auto fitting = bar.substr(0, static_cast<std::size_t>(std::max(1, width() - 1)));
  if (!has_bar_ || fitting == bar_)
    return;
  erase_bar();
  bar_ = fitting;
  write(out_, drawn(bar_));
}

/// Erases all below it, too: the pieces of a bar that was broken.
void Screen::erase_bar() {
  if (!bar_.empty())
    write(out_, "\r\033[J");
}

} // namespace troupe::metrics
