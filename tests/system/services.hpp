/// Daemons under a service manager, that starts them again as our unit says.
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

/// What packaging/troupe-node@.service says of an exit code, read as systemd.service(5) has it.
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
  /// `code`: as Ended has it.
  bool restarts(int code) const {
    const bool clean = code == 0 || code == 128 + SIGHUP || code == 128 + SIGINT ||
                       code == 128 + SIGTERM || code == 128 + SIGPIPE;
    return !clean && std::ranges::count(prevent_, code) == 0;
  }

private:
  std::string restart_;
  std::vector<int> prevent_;
};

/// A daemon that is started again as the rules want it, at once: systemd's pause only helps.
class Service {
public:
  Service(const RestartRules& rules, std::vector<std::string> command)
      : rules_{rules}, command_{std::move(command)} {
    start();
  }
  /// What systemd does when it learns that a process has ended. True while there is one.
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

/// Free again at once.
inline std::string free_address() {
  return "127.0.0.1:" + std::to_string(net::listen_on({"127.0.0.1", 0}).value().port);
}

} // namespace troupe::testing
