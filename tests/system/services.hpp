/// Daemons under a service manager, which restarts them by the rules of our unit.
#pragma once

#include "core/net/socket.hpp"
#include "tests/system/experiment.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <csignal>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace troupe::testing {

/// The rules of packaging/troupe-node@.service for exit codes, as systemd.service(5) defines them.
class RestartRules {
public:
  RestartRules() {
    std::istringstream unit{read_bytes(source_tree() / "packaging/troupe-node@.service")};
    for (std::string line; std::getline(unit, line);) {
      if (line.starts_with("Restart="))
        restart_ = line.substr(8);
      if (line.starts_with("RestartPreventExitStatus="))
        prevent_.push_back(std::stoi(line.substr(25)));
      REQUIRE_FALSE(line.starts_with("RestartForceExitStatus="));
      REQUIRE_FALSE(line.starts_with("SuccessExitStatus="));
    }
    REQUIRE(restart_ == "on-failure");
  }
  /// `code`: as in Ended.
  bool restarts(int code) const {
    const bool clean = code == 0 || code == 128 + SIGHUP || code == 128 + SIGINT ||
                       code == 128 + SIGTERM || code == 128 + SIGPIPE;
    return !clean && std::ranges::count(prevent_, code) == 0;
  }

private:
  std::string restart_;
  std::vector<int> prevent_;
};

/// A daemon that is restarted by the rules, at once: systemd's pause would only make this easier.
class Service {
public:
  Service(const RestartRules& rules, std::vector<std::string> command)
      : rules_{rules}, command_{std::move(command)} {
    start();
  }
  /// Does systemd's work when a process has ended. Returns whether a process exists.
  bool tend() {
    if (!program_ || program_->running())
      return program_ != nullptr;
    const auto ended = program_->wait();
    codes_.push_back(ended.code);
    said_ += ended.out + ended.err;
    program_.reset();
    if (rules_.restarts(ended.code))
      start();
    return program_ != nullptr;
  }
  void kill() { program_->send(SIGKILL); }
  void stop() { program_->send(SIGTERM); }
  bool prints(const std::string& text) const { return program_ && has(program_->out(), text); }
  const std::vector<int>& codes() const { return codes_; }
  const std::string& said() const { return said_; }

private:
  void start() { program_ = std::make_unique<RunningProgram>(command_); }

  const RestartRules& rules_;
  std::vector<std::string> command_;
  std::unique_ptr<RunningProgram> program_;
  std::vector<int> codes_;
  std::string said_;
};

/// Returns an address whose port is released at once.
inline std::string free_address() {
  return "127.0.0.1:" + std::to_string(net::listen_on({"127.0.0.1", 0}).value().port);
}

} // namespace troupe::testing
