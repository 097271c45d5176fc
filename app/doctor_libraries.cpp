#include "doctor.hpp"
#include "machine.hpp"
#ifdef TROUPE_HAS_CUDA
#include "troupe/collectives/nccl/library.hpp"
#include "troupe/gpu/libraries.hpp"
#endif

#include <CLI/Version.hpp>
#include <caf/config.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spdlog/version.h>

#include <algorithm>
#include <iterator>

namespace troupe::app {

namespace {

Finding library(const char* name, std::string version) {
  return {"libraries", name, std::move(version), Finding::State::good};
}

std::string cuda_version(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

#ifdef TROUPE_HAS_CUDA
/// 91900: "9.19.0".
std::string dotted(std::size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}
#endif

} // namespace

Findings library_findings() {
  return {
      library("oneDNN", TROUPE_ONEDNN_VERSION),
      library("CAF", fmt::format("{}.{}.{}", CAF_VERSION / 10000, CAF_VERSION / 100 % 100,
                                 CAF_VERSION % 100)),
      library("Gloo", TROUPE_GLOO_VERSION),
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

namespace {

#ifdef TROUPE_HAS_CUDA
/// cuDNN, cuBLASLt and NCCL, which are opened at run time.
Findings cuda_library_findings() {
  const auto places = gpu::library_places(gpu::LibraryEnvironment::of_process());
  const auto missing = [](const char* name, const Error& error) {
    return Finding{"cuda", name, error.message, Finding::State::absent};
  };
  Findings all;
  const auto cudnn = gpu::open_cudnn(places);
  all.push_back(cudnn ? Finding{"cuda", "cuDNN", dotted(cudnn->version())}
                      : missing("cuDNN", cudnn.error()));
  const auto cublas = gpu::open_cublas_lt(places);
  all.push_back(cublas ? Finding{"cuda", "cuBLASLt", dotted(cublas->version())}
                       : missing("cuBLASLt", cublas.error()));
  const auto nccl = collectives::open_nccl();
  int version = 0;
  all.push_back(nccl && nccl->version(&version) == ncclSuccess
                    ? Finding{"cuda", "NCCL", dotted(static_cast<std::size_t>(version))}
                    : missing("NCCL", nccl ? Error{} : nccl.error()));
  return all;
}
#endif

Findings cuda_build_findings() {
#ifdef TROUPE_HAS_CUDA
  Findings all{{"cuda", "build", "with CUDA"}};
  std::ranges::move(cuda_library_findings(), std::back_inserter(all));
  return all;
#else
  return {{"cuda", "build", "without CUDA: devices.kind cuda is refused", Finding::State::absent}};
#endif
}

} // namespace

Findings cuda_findings() {
  auto all = cuda_build_findings();
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
