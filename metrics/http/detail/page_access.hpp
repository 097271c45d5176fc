/// Access control of a run's page.
#pragma once

#include "metrics/http/detail/answer.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace troupe::metrics {

/// Whether the header "Basic BASE64" (RFC 7617) contains this password, with any user name.
/// Compares in constant time, so that the duration does not reveal how much of the password was
/// right.
bool has_password(std::string_view authorization, std::string_view password);

struct PageAccess {
  std::optional<std::string> password = {}; ///< required if set
  bool https = false;                       ///< whether the server has a certificate

  /// Returns the response that refuses the request; empty if access is granted.
  std::optional<HttpAnswer> refusal(const HttpQuestion& question) const;
};

/// Limits how fast an address can guess the password. After `free` wrong passwords, an address has
/// to wait before its next password is compared: two seconds, doubled after each further wrong one,
/// up to a minute. The right password clears the address. Remembers at most `most_addresses`
/// addresses.
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
