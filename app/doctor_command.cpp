#include "app/add_command.hpp"
#include "app/doctor.hpp"
#include "core/config/config.hpp"
#include "core/net/descriptor.hpp"
#include "training/platforms/platforms.hpp"

#include <CLI/Version.hpp>
#include <caf/config.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spdlog/version.h>
#include <unicode/uvernum.h>

#include <netdb.h>
#include <sys/socket.h>
#include <sys/timex.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

namespace troupe::app {

namespace {

struct DoctorArguments {
  ConfigArguments config; ///< empty path: check the default ports
  bool json = false;
};

Finding::State state_of(const Trait& trait) {
  if (!trait.usable)
    return Finding::State::bad;
  return trait.found ? Finding::State::good : Finding::State::absent;
}

std::string_view mark(Finding::State state) {
  constexpr std::array<std::string_view, 3> marks = {"ok", "-", "FAIL"}; // by Finding::State
  return marks[static_cast<std::size_t>(state)];
}

void print_json(const Findings& findings) {
  nlohmann::ordered_json root = {{"version", TROUPE_VERSION}};
  for (const auto& finding : findings)
    root[finding.section][finding.name] = {{"state", mark(finding.state)},
                                           {"value", finding.value}};
  fmt::print("{}\n", root.dump(2));
}

Finding library(const char* name, std::string version) {
  return {"libraries", name, std::move(version), Finding::State::good};
}

/// The reason why the address cannot be bound; empty if it can.
std::string bind_problem(const Endpoint& endpoint) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* list = nullptr;
  const int error =
      getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &hints, &list);
  if (error != 0)
    return fmt::format("unknown host: {}", gai_strerror(error));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses{list, freeaddrinfo};
  const net::Descriptor made{
      socket(list->ai_family, list->ai_socktype | SOCK_CLOEXEC, list->ai_protocol)};
  if (!made)
    return std::strerror(errno);
  // The servers set this, too: a port in TIME_WAIT after a restart counts as free.
  const int yes = 1;
  setsockopt(made.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const bool is_free =
      bind(made.number(), list->ai_addr, list->ai_addrlen) == 0 && listen(made.number(), 1) == 0;
  return is_free ? "" : std::strerror(errno);
}

Finding port_finding(const std::string& key, const std::string& address) {
  const auto endpoint = parse_endpoint(address);
  if (!endpoint)
    return {"ports", key, address, Finding::State::absent}; // "off"
  const auto problem = bind_problem(*endpoint);
  if (!problem.empty())
    return {"ports", key, fmt::format("{}: {}", address, problem), Finding::State::bad};
  return {"ports", key,
          endpoint->port == 0 ? address + ": takes any free port" : address + ": free"};
}

Findings clock_findings() {
  timespec resolution = {};
  clock_getres(CLOCK_MONOTONIC, &resolution);
  Finding steady{
      "clock", "steady",
      fmt::format("resolution {} ns", resolution.tv_sec * 1000000000 + resolution.tv_nsec)};
  timex state = {};
  const int answer = adjtimex(&state); // modes = 0: only reads
  if (answer == -1 || answer == TIME_ERROR || (state.status & STA_UNSYNC) != 0)
    return {steady,
            {"clock", "synchronized", "unknown; log times may differ between hosts",
             Finding::State::absent}};
  return {steady,
          {"clock", "synchronized", fmt::format("yes, error at most {} us", state.maxerror)}};
}

/// Whether a config's ports are free.
Findings network_findings(const Config& config) {
  const auto& cluster = config.cluster;
  Findings findings = {port_finding("cluster.listen", cluster.listen),
                       port_finding("metrics.listen", config.metrics.listen)};
  if (auto endpoint = parse_endpoint(cluster.listen); endpoint && cluster.data_port > 0) {
    endpoint->port = static_cast<std::uint16_t>(cluster.data_port);
    findings.push_back(port_finding("cluster.listen.data_port", to_string(*endpoint)));
  }
  return findings;
}

int examine(const DoctorArguments& arguments, const Catalogue& catalogue) {
  Config config;
  if (!arguments.config.path.empty()) {
    auto loaded = load_or_report(arguments.config, training::machine_capabilities(), catalogue);
    if (!loaded)
      return wrong_input;
    config = std::move(*loaded);
  }
  Findings all;
  for (auto& findings :
       {platform_findings(), clock_findings(), library_findings(), network_findings(config)})
    all.insert(all.end(), findings.begin(), findings.end());
  if (arguments.json)
    print_json(all);
  else {
    fmt::print("troupe {}\n", TROUPE_VERSION);
    print_findings(all);
  }
  return std::ranges::count(all, Finding::State::bad, &Finding::state) > 0 ? run_failed : success;
}

} // namespace

Findings platform_findings() {
  Findings all;
  const auto platforms = training::platforms();
  for (auto platform = platforms.rbegin(); platform != platforms.rend(); ++platform)
    for (auto& trait : platform->traits())
      all.push_back({trait.section, trait.name, trait.value, state_of(trait)});
  return all;
}

Findings library_findings() {
  return {
      library("oneDNN", TROUPE_ONEDNN_VERSION),
      library("CAF", fmt::format("{}.{}.{}", CAF_VERSION / 10000, CAF_VERSION / 100 % 100,
                                 CAF_VERSION % 100)),
      library("libwebp", TROUPE_WEBP_VERSION),
      library("libicu", U_ICU_VERSION),
      library("prometheus-cpp", TROUPE_PROMETHEUS_VERSION),
      library("Boost", TROUPE_BOOST_VERSION),
      library("yaml-cpp", TROUPE_YAML_CPP_VERSION),
      library("fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100,
                                 FMT_VERSION % 100)),
      library("spdlog",
              fmt::format("{}.{}.{}", SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR, SPDLOG_VER_PATCH)),
      library("CLI11", CLI11_VERSION),
      library("nlohmann-json",
              fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                          NLOHMANN_JSON_VERSION_PATCH)),
  };
}

void print_findings(const Findings& findings) {
  std::string_view section;
  for (const auto& finding : findings) {
    if (finding.section != section)
      fmt::print("\n{}\n", finding.section);
    section = finding.section;
    fmt::print("  {:<4} {:<17} {}\n", mark(finding.state), finding.name, finding.value);
  }
}

void add_doctor_command(CLI::App& app, Action& action) {
  auto [doctor, arguments] = add_command<DoctorArguments>(
      app, action, "doctor", "Check this machine: devices, libraries, ports, clocks", examine);
  add_config_arguments(doctor, arguments.config);
  doctor.get_option("config")->required(false)->description(
      "Check the ports of this config file; default: the default ports");
  doctor.add_flag("--json", arguments.json, "Print JSON");
}

} // namespace troupe::app
