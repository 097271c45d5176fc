// The CUDA platform of a build without CUDA.
#include "core/fail.hpp"
#include "training/platforms/detail/cuda_driver.hpp"
#include "training/platforms/detail/registered.hpp"

#include <algorithm>
#include <iterator>

namespace troupe::training {

namespace {

class NoDevices final : public PlatformDevices {
public:
  Result<std::shared_ptr<Device>> add() override { return refused(); }
  Result<EngineOptions> engine_options(int) override { return refused(); }
  Result<double> peak_operations(int, Precision) override { return refused(); }
  nn::InputFormat preferred_input(bool) const override { return {}; }
  Result<std::shared_ptr<BatchProducer>> make_producer(int, ProducerOptions) override {
    return refused();
  }
  Result<Communicators> make_group(std::span<const GroupMember>, const GroupPlace&) override {
    return refused();
  }

private:
  static tl::unexpected<Error> refused() {
    return fail(Errc::unsupported,
                "devices.kind is cuda, but this build does not support CUDA; use cpu or auto");
  }
};

Traits traits() {
  Traits all{{"cuda", "build", "without CUDA: devices.kind cuda is refused", false}};
  std::ranges::move(cuda_driver_traits(), std::back_inserter(all));
  return all;
}

} // namespace

Platform cuda_platform() {
  return {.kind = DeviceKind::cuda,
          .suits = [](const DevicesConfig&) { return false; },
          .make_devices = [](const Config&, const SayLine&) -> std::unique_ptr<PlatformDevices> {
            return std::make_unique<NoDevices>();
          },
          .arithmetic = [](const Config&, Precision) { return std::string{}; },
          .add_capabilities = [](Capabilities&) {},
          .traits = traits,
          .prepare_process = [] { return Status{}; }};
}

} // namespace troupe::training
