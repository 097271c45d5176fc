/// Hosts of one machine: network namespaces with separate addresses (tools/network-namespaces).
#pragma once

#include "tests/system/experiment.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <vector>

#include <unistd.h>

namespace troupe::testing {

class Namespaces {
public:
  explicit Namespaces(int hosts) : count_{hosts} {
    const auto up = tool("up", {std::to_string(hosts)});
    made_ = up.code;
    network_ = up.out.substr(0, up.out.find('\n'));
  }
  Namespaces(const Namespaces&) = delete;
  Namespaces& operator=(const Namespaces&) = delete;
  ~Namespaces() { tool("down"); }

  /// Whether this machine supports namespaces; requires that no other error occurred.
  bool made() const {
    constexpr int not_here = 3;
    REQUIRE((made_ == 0 || made_ == not_here));
    return made_ == 0;
  }
  int count() const { return count_; }
  /// Returns the address of host 1, 2, ...
  std::string ip(int host) const { return network_ + "." + std::to_string(host); }
  std::string at(int host, int port) const { return ip(host) + ":" + std::to_string(port); }
  /// Returns the command to run on host 1, 2, ...
  std::vector<std::string> on(int host, std::vector<std::string> command) const {
    command.insert(command.begin(),
                   {"/usr/sbin/ip", "netns", "exec", prefix_ + "-" + std::to_string(host)});
    return command;
  }

private:
  Ended tool(const std::string& verb, const std::vector<std::string>& arguments = {}) const {
    std::vector<std::string> words = {source_tree() / "tools/network-namespaces", verb, prefix_};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return RunningProgram{words}.wait();
  }

  int count_;
  std::string prefix_ = "t" + std::to_string(::getpid());
  int made_ = 0; ///< exit code
  std::string network_;
};

} // namespace troupe::testing
