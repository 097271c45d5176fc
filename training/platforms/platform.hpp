/// A kind of device as training uses it: everything above Device that differs between the host's
/// processors and GPUs. A new kind (docs/new-device.md) is a file that makes a Platform, and a line
/// in platforms.cpp.
#pragma once

#include "collectives/communicator.hpp"
#include "collectives/data_plane/connection_group.hpp"
#include "core/config/capabilities.hpp"
#include "core/config/devices.hpp"
#include "core/config/forward.hpp"
#include "core/device/description.hpp"
#include "core/device/executable.hpp"
#include "nn/compile.hpp"
#include "nn/passes/format_input.hpp"
#include "training/input/batch_producer.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::training {

/// Receives lines about slow steps and choices while a device prepares a model. Called from any
/// thread.
using SayLine = std::function<void(const std::string& line)>;

/// How a model's graph is built and compiled for a device. The caller adds the memory plan.
struct EngineOptions {
  nn::PassOptions passes;
  CompileOptions compile;
  /// Whether the device supports CompileOptions::adds_gradients.
  bool can_add_gradients = false;
};

/// Options of the batch producer of one rank and one pass mode.
struct ProducerOptions {
  std::shared_ptr<const data::BatchAssembler> assembler;
  int rank = 0;
  data::Slice slice; ///< the first, and so a largest one
  std::int64_t slots = 2;
  nn::InputFormat format = {}; ///< input format of the model
  HostLoader host;             ///< reads and augments, on every device
  /// Receives the streams that the producer adds. They must be drained before the devices are
  /// destroyed.
  std::vector<LoaderStream>* streams = nullptr;
  metrics::Trace trace; ///< of those streams
};

/// Rates that a device cannot exceed. 0: unknown.
struct DeviceLimits {
  double operations = 0; ///< multiplications and additions per second, in a run's precision
  double memory = 0;     ///< bytes per second, read and written
  double cache = 0;      ///< likewise, of work on no more bytes than its last cache holds
  double cache_bytes = 0;
};

/// A worker of this node as a rank of a group.
struct GroupMember {
  int worker = 0;
  int rank = 0; ///< in the group
};

/// How the ranks of a group connect.
struct GroupPlace {
  std::string name; ///< unique among the groups of a generation
  int world_size = 1;
  /// Null if all ranks are in this process.
  std::shared_ptr<collectives::ConnectionGroup> connection_group = nullptr;
  std::vector<Endpoint> endpoints = {}; ///< of all ranks' processes; with a connection group
  std::string node = {};                ///< its name, for error messages
  std::chrono::milliseconds collective, connect; ///< timeouts
  /// Its calls are not ordered with those of other groups (ADR 0011).
  bool apart = false;
};

using Communicators = std::vector<std::unique_ptr<collectives::Communicator>>;

/// The devices of a node's workers, numbered from 0.
class PlatformDevices {
public:
  PlatformDevices() = default;
  PlatformDevices(const PlatformDevices&) = delete;
  PlatformDevices& operator=(const PlatformDevices&) = delete;
  virtual ~PlatformDevices() = default;

  /// Adds the device of the next worker. It may outlive this object. Errors: unsupported if the
  /// machine has none.
  virtual Result<std::shared_ptr<Device>> add() = 0;
  /// As add(), for planning: graphs are compiled and producers created, but nothing runs. Buffers
  /// have no memory if the platform supports that.
  virtual Result<std::shared_ptr<Device>> add_for_planning() { return add(); }
  /// Errors: unsupported if a library that the device needs is missing.
  virtual Result<EngineOptions> engine_options(int worker) = 0;
  /// Returns the peak rate of the worker's device in matrix products of the precision's types:
  /// multiplications and additions per second; 0: unknown. On the host it is the largest
  /// measurement so far. The first call after all workers are added measures, and blocks for about
  /// 10 ms.
  virtual Result<double> peak_operations(int worker, Precision precision) = 0;
  /// Returns the limits of the worker's device, for profiles. May measure, and blocks for some
  /// seconds. By default only the peak rate is known.
  virtual Result<DeviceLimits> limits(int worker, Precision precision) {
    return peak_operations(worker, precision).map([](double peak) {
      return DeviceLimits{.operations = peak};
    });
  }
  /// If the peak is measured: enqueues another measurement on a stream of the worker's device, and
  /// passes the largest so far to `then`, on the stream's thread. Else has no effect.
  // NOLINTBEGIN(performance-unnecessary-value-param): an override keeps it until it is called
  virtual void measure_peak(int /*worker*/, Precision /*precision*/, Stream& /*stream*/,
                            std::function<void(double)> /*then*/) {}
  // NOLINTEND(performance-unnecessary-value-param)
  /// Returns the input format that the loader writes most cheaply. `augments`: the device makes the
  /// images (data::may_augment_on_device). The model takes the format that the loader writes.
  virtual nn::InputFormat preferred_input(bool augments) const = 0;
  /// Errors: out_of_memory; unsupported for a residency that the data set does not allow.
  virtual Result<std::shared_ptr<BatchProducer>> make_producer(int worker,
                                                               ProducerOptions options) = 0;
  /// Connects two or more ranks, in the order of `members`. Blocks until all are connected. Errors:
  /// network if a rank does not connect in time; unsupported; collective.
  virtual Result<Communicators> make_group(std::span<const GroupMember> members,
                                           const GroupPlace& place) = 0;
  /// Called after all streams of a generation are created and before they are used. Ensures that no
  /// stream blocks another.
  virtual void separate_streams() {}
};

/// Support of this build and this machine for a kind of device. A build without it has a Platform
/// that reports so.
struct Platform {
  DeviceKind kind;
  /// Whether a job uses it if devices.kind does not name a kind.
  bool (*suits)(const DevicesConfig& devices);
  std::unique_ptr<PlatformDevices> (*make_devices)(const Config& config, const SayLine& say);
  /// Describes a worker's arithmetic: "fp32 arithmetic, fp16 activations".
  std::string (*arithmetic)(const Config& config, Precision precision);
  void (*add_capabilities)(Capabilities& capabilities);
  Traits (*traits)();
  /// Sets up what libraries need before their first call. May change environment variables, so call
  /// it while the process has one thread. Errors: invalid_input for an invalid environment
  /// variable.
  Status (*prepare_process)();
};

} // namespace troupe::training
