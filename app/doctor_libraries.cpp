#include "doctor.hpp"
#include "machine.hpp"

#include <CLI/Version.hpp>
#include <caf/config.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spdlog/version.h>

namespace troupe::app {

namespace {

Finding library(const char* name, std::string version) {
  return {"libraries", name, std::move(version), Finding::State::good};
}

std::string cuda_version(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

} // namespace

Findings library_findings() {
  return {
      library("oneDNN", TROUPE_ONEDNN_VERSION),
      library("CAF", fmt::format("{}.{}.{}", CAF_VERSION / 10000, CAF_VERSION / 100 % 100,
                                 CAF_VERSION % 100)),
      library("prometheus-cpp", TROUPE_PROMETHEUS_VERSION),
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

Findings cuda_findings() {
  Findings all;
#ifdef TROUPE_HAS_CUDA
  all.push_back({"cuda", "build", "with CUDA"});
#else
  all.push_back(
      {"cuda", "build", "without CUDA: devices.kind cuda is refused", Finding::State::absent});
#endif
  const auto driver = probe_cuda_driver();
  if (!driver.problem.empty()) {
    all.push_back({"cuda", "driver", driver.problem, Finding::State::absent});
    return all;
  }
  all.push_back({"cuda", "driver", "for CUDA " + cuda_version(driver.version)});
  for (std::size_t i = 0; i < driver.devices.size(); ++i)
    all.push_back({"cuda", fmt::format("device {}", i), driver.devices[i]});
  if (driver.devices.empty())
    all.push_back({"cuda", "devices", "none", Finding::State::absent});
  return all;
}

} // namespace troupe::app
