// Tests the GPU metrics that Prometheus reads, on a job with GPUs. Without NVML, as with emulated
// GPUs, a library of ours replaces it.
#include "tests/system/daemons.hpp"
#include "tests/system/gpus.hpp"
#include "tests/system/panel_checks.hpp"
#include "tests/system/quick_rules.hpp"

#include <catch2/catch_test_macros.hpp>

#include <dlfcn.h>

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Returns a command prefix with which a program finds NVML.
std::vector<std::string> with_nvml(const Experiment& experiment) {
  if (::dlopen("libnvidia-ml.so.1", RTLD_LAZY) != nullptr)
    return {};
  const auto folder = experiment / "nvml";
  std::filesystem::create_directories(folder);
  std::filesystem::create_symlink(TROUPE_FAKE_NVML, folder / "libnvidia-ml.so.1");
  return {"env", "LD_LIBRARY_PATH=" + folder.string()};
}

} // namespace

TEST_CASE("every dashboard expression about GPUs returns data for a job on a GPU", "[long]") {
  need_gpus(1);
  need_prometheus();
  const Experiment experiment{{"devices.kind=cuda", "metrics.listen=127.0.0.1:0",
                               "train.epochs=100000", "checkpoint.every=never"}};
  Daemons daemons{experiment, "gpu", for_nodes(1, "single")};
  auto& leader = daemons.lead({}, with_nvml(experiment));
  const PrometheusServer prometheus(
      TROUPE_PROMETHEUS,
      PrometheusServer::discovery("127.0.0.1:" + std::to_string(metrics_port(leader))));
  REQUIRE(becomes_true([&] { return prometheus.ask("troupe_steps_total > 5").has_value(); }));
  check_panels(prometheus, needs_gpu);
  // With slow steps, there may be none between two scrapes.
  const auto share = found(prometheus, "rate(troupe_operations_total[10s]) / on (job) "
                                       "troupe_peak_operations_per_second > 0");
  REQUIRE_FALSE(share.empty());
  CHECK(std::stod(share.at(0).at("value").at(1).get<std::string>()) < 1);
  CHECK(stop(leader).code == 0);
}
