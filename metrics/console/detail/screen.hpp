/// A terminal shared by log lines and the progress bar.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace troupe::metrics {

/// Thread-safe. Keeps the bar below the lines that are written.
class Screen {
public:
  enum class Target { out, err };

  /// Called on the writing thread, with errno, when a write to `out` fails.
  using Lost = std::function<void(int error)>;

  /// `out` and `err` are file descriptors, which the caller owns.
  explicit Screen(int out = 1, int err = 2, Lost lost = {});
  explicit Screen(Lost lost) : Screen(1, 2, std::move(lost)) {}
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen();

  /// Whether a bar can be shown: `out` is a terminal that can return to the start of a line.
  bool has_bar() const { return has_bar_; }
  /// The current width of the terminal in columns; 80 if unknown.
  int width() const;

  void write_line(Target target, std::string_view line);
  /// Replaces the bar. The text must be ASCII, and is cut to the width. Empty: removes the bar.
  void show_bar(std::string_view bar);

private:
  void write(int descriptor, std::string_view text);
  void erase_bar();

  const int out_, err_;
  const bool has_bar_;
  const Lost lost_;
  std::mutex mutex_;
  std::string bar_; ///< the text shown now
};

} // namespace troupe::metrics
