/// Limits how fast an address can guess the page's password.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>

namespace troupe::metrics {

/// After `free` wrong passwords, an address has to wait before its next password is compared: two
/// seconds, doubled after each further wrong one, up to a minute. The right password clears the
/// address. Remembers at most `most_addresses` addresses.
class Guesses {
public:
  using Clock = std::chrono::steady_clock;
  static constexpr int free = 5; ///< wrong passwords without a wait
  static constexpr std::size_t most_addresses = 1024;

  /// Time until a password from this address is compared; 0: now.
  std::chrono::seconds wait(const std::string& address, Clock::time_point now) const;
  void note_wrong(const std::string& address, Clock::time_point now);
  void note_right(const std::string& address) { addresses_.erase(address); }
  std::size_t size() const { return addresses_.size(); }

private:
  struct Wrong {
    int count = 0;
    Clock::time_point until = {}; ///< no password is compared before this time
  };
  void make_room();

  std::map<std::string, Wrong> addresses_;
};

} // namespace troupe::metrics
