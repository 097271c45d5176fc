#include "app/doctor.hpp"

#include <CLI/Version.hpp>
#include <caf/config.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spdlog/version.h>
#include <unicode/uvernum.h>

namespace troupe::app {

namespace {

Finding library(const char* name, std::string version) {
  return {"libraries", name, std::move(version), Finding::State::good};
}

} // namespace

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

} // namespace troupe::app
