#include "app/add_command.hpp"
#include "app/doctor.hpp"
#include "training/platforms/platforms.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace troupe::app {

namespace {

struct DoctorArguments {
  ConfigArguments config; ///< empty path: check the default ports
  bool json = false;
};

std::string_view mark(Finding::State state) {
  switch (state) {
  case Finding::State::good:
    return "ok";
  case Finding::State::absent:
    return "-";
  default:
    return "FAIL";
  }
}

void print_json(const Findings& findings) {
  nlohmann::ordered_json root = {{"version", TROUPE_VERSION}};
  for (const auto& finding : findings)
    root[finding.section][finding.name] = {{"state", mark(finding.state)},
                                           {"value", finding.value}};
  fmt::print("{}\n", root.dump(2));
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
  const bool bad = std::any_of(all.begin(), all.end(),
                               [](const auto& f) { return f.state == Finding::State::bad; });
  return bad ? run_failed : success;
}

} // namespace

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
