// The host's processors.
#include "collectives/shared_device/shared_communicator.hpp"
#include "collectives/tcp/tcp_communicator.hpp"
#include "core/config/config.hpp"
#include "core/config/validate.hpp"
#include "core/cores.hpp"
#include "core/fail.hpp"
#include "core/threads.hpp"
#include "cpu/bandwidth.hpp"
#include "cpu/engines.hpp"
#include "cpu/host_device.hpp"
#include "cpu/peak.hpp"
#include "cpu/processor.hpp"
#include "training/platforms/detail/common.hpp"
#include "training/platforms/detail/registered.hpp"
#include "training/platforms/platforms.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace troupe::training {

namespace {

bool interprets(const Config& config) {
  return config.devices.engine == Engine::interpreter;
}

/// Connects ranks of several nodes over TCP.
Result<Communicators> connect(std::span<const GroupMember> members, const GroupPlace& place) {
  return connect_all(members.size(), [&](std::size_t index) {
    return collectives::connect_tcp({.member = members[index].rank,
                                     .endpoints = place.endpoints,
                                     .group = place.name,
                                     .timeout = place.collective,
                                     .connect_timeout = place.connect},
                                    place.connection_group);
  });
}

class HostDevices final : public PlatformDevices {
public:
  explicit HostDevices(const Config& config) : config_{config} {}

  Result<std::shared_ptr<Device>> add() override { return add(cpu::Backing::memory); }
  Result<std::shared_ptr<Device>> add_for_planning() override { return add(cpu::Backing::none); }

  Result<EngineOptions> engine_options(int) override {
    auto options = common_options(config_);
    options.passes.fuse.convolution_bias = true;
    if (interprets(config_)) { // the reference runs the graph as the model was written
      options.passes = {};
      options.compile.engine = Engine::interpreter;
    }
    return options;
  }

  /// Workers share the cores: each has an equal share of their joint peak.
  Result<double> peak_operations(int, Precision precision) override {
    return share(meter(precision).largest());
  }

  Result<DeviceLimits> limits(int worker, Precision precision) override {
    const auto level = cpu::caches().l3.bytes > 0 ? cpu::MemoryLevel::l3 : cpu::MemoryLevel::l2;
    TROUPE_TRY(const auto peak, peak_operations(worker, precision));
    return DeviceLimits{
        .operations = peak,
        .memory = share(cpu::fastest_bandwidth(cpu::MemoryLevel::memory, cores())),
        .cache = share(cpu::fastest_bandwidth(level, cores())),
        .cache_bytes = share(static_cast<double>(cpu::last_cache_bytes(cpu::caches(), cores())))};
  }

  /// Uses a stream that is otherwise idle, and whose own threads release the cores.
  void measure_peak(int, Precision precision, Stream& stream,
                    std::function<void(double)> then) override {
    cpu::host_stream(stream).enqueue_for_library(
        [this, &meter = meter(precision), then = std::move(then)] {
          then(share(meter.measure()));
          return Status{};
        });
  }

  nn::InputFormat preferred_input(bool) const override { return {}; }

  Result<std::shared_ptr<BatchProducer>> make_producer(int worker,
                                                       ProducerOptions options) override {
    std::vector<data::BatchBuffer> buffers;
    for (std::int64_t i = 0; i < options.slots; ++i) {
      TROUPE_TRY(auto buffer, options.assembler->allocate(
                                  *devices_[static_cast<std::size_t>(worker)], options.slice));
      buffers.push_back(std::move(buffer));
    }
    return std::make_shared<HostProducer>(std::move(options.assembler), std::move(buffers),
                                          std::move(options.host));
  }

  Result<Communicators> make_group(std::span<const GroupMember> members,
                                   const GroupPlace& place) override {
    return place.connection_group
               ? connect(members, place)
               : collectives::make_shared_group(place.world_size, place.collective);
  }

private:
  Result<std::shared_ptr<Device>> add(cpu::Backing backing) {
    // A thread pool for kernels, as many loaders, and some streams.
    TROUPE_TRY(expect_threads(2 * threads_per_worker(config_.devices) + 4));
    devices_.push_back(cpu::make_host_device(static_cast<int>(devices_.size()),
                                             threads_per_worker(config_.devices), backing));
    return devices_.back();
  }

  /// Cores that all workers use together.
  int cores() const {
    return std::min(static_cast<int>(devices_.size()) * threads_per_worker(config_.devices),
                    usable_cores().count());
  }

  double share(double peak) const { return peak / static_cast<double>(devices_.size()); }

  cpu::PeakMeter& meter(Precision precision) {
    const auto type = cpu::arithmetic_type(compute_type(precision));
    const std::lock_guard lock{mutex_};
    auto& meter = meters_[type];
    if (!meter)
      meter = std::make_unique<cpu::PeakMeter>(
          [type, cores = cores()] { return cpu::measure_peak(type, cores); });
    return *meter;
  }

  Config config_; ///< a copy: a node may get another job
  std::vector<std::shared_ptr<cpu::HostDevice>> devices_;
  std::mutex mutex_; ///< guards meters_
  std::map<DType, std::unique_ptr<cpu::PeakMeter>> meters_;
};

std::string arithmetic(const Config& config, Precision precision) {
  const auto type = compute_type(precision);
  return interprets(config) ? "interpreter: computed in double precision, then rounded"
                            : describe(precision, cpu::arithmetic_type(type));
}

std::unique_ptr<PlatformDevices> make_devices(const Config& config, const SayLine& say) {
  const auto warning = thread_warning(config.devices, usable_cores().count());
  if (say && !warning.empty())
    say("warning: " + warning);
  return std::make_unique<HostDevices>(config);
}

Status check_isa() {
  const auto limit = cpu::isa_limit();
  return limit ? Status{} : failure(limit.error());
}

} // namespace

Platform host_platform() {
  return {.kind = DeviceKind::cpu,
          .suits = [](const DevicesConfig&) { return true; },
          .make_devices = make_devices,
          .arithmetic = arithmetic,
          .add_capabilities = [](Capabilities&) {}, // host_capabilities() has them already
          .traits = cpu::description,
          .prepare_process = check_isa};
}

} // namespace troupe::training
