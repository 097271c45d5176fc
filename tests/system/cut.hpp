/// Breaks the network between hosts for a while.
#pragma once

#include "tests/system/namespaces.hpp"

#include <catch2/catch_test_macros.hpp>

#include <map>
#include <string>
#include <vector>

namespace troupe::testing {

/// All packets from one host to another are lost.
struct Deaf {
  int from, to; ///< host numbers 1, 2, ...
};

/// Drops packets at the receiver: no side is notified, as when a cable is cut.
class Cut {
public:
  /// `port`: drops only packets from or to this port; 0: all.
  Cut(const Namespaces& hosts, const std::vector<Deaf>& deaf, int port = 0) : hosts_{hosts} {
    for (const auto& one : deaf)
      unheard_[one.to] += (unheard_[one.to].empty() ? "" : ", ") + hosts.ip(one.from);
    for (const auto& [host, from] : unheard_) {
      std::string rules = "add table inet cut; "
                          "add chain inet cut in { type filter hook input priority filter; }";
      for (const auto& which : packets(port))
        rules += "; add rule inet cut in ip saddr { " + from + " }" + which + " drop";
      filter(host, rules);
    }
  }
  Cut(const Cut&) = delete;
  Cut& operator=(const Cut&) = delete;
  ~Cut() { heal(); }

  void heal() {
    for (const auto& [host, from] : unheard_)
      filter(host, "delete table inet cut");
    unheard_.clear();
  }

private:
  static std::vector<std::string> packets(int port) {
    const auto number = std::to_string(port);
    return port == 0 ? std::vector<std::string>{""}
                     : std::vector<std::string>{" tcp dport " + number, " tcp sport " + number};
  }
  void filter(int host, const std::string& rules) const {
    CHECK(RunningProgram{hosts_.on(host, {"/usr/sbin/nft", rules})}.wait().code == 0);
  }

  const Namespaces& hosts_;
  std::map<int, std::string> unheard_; ///< dropped source addresses, by receiving host
};

} // namespace troupe::testing
