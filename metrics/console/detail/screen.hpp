/// Where lines and the progress bar share one terminal.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace troupe::metrics {

/// Any thread may call anything. A bar stays below the lines that are written.
class Screen {
public:
  enum class Target { out, err };

  /// Called with errno when something cannot be written to `out`, by the thread that writes.
  using Lost = std::function<void(int error)>;

  /// File descriptors; they stay the caller's.
  explicit Screen(int out = 1, int err = 2, Lost lost = {});
  explicit Screen(Lost lost) : Screen(1, 2, std::move(lost)) {}
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen();

  /// Whether a bar can be shown: out is a terminal that can go back to the start of a line.
  bool has_bar() const { return has_bar_; }
  /// The terminal's width now, in columns; 80 when unknown.
  int width() const;

  void write_line(Target target, std::string_view line);
  /// Replaces the bar; the text must be ASCII, and is cut to the width. Empty: no bar.
  void show_bar(std::string_view bar);

private:
  void write(int descriptor, std::string_view text);
  void erase_bar();

  const int out_, err_;
  const bool has_bar_;
  const Lost lost_;
  std::mutex mutex_;
  std::string bar_; ///< what is shown now
};

} // namespace troupe::metrics
