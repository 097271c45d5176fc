/// A kind of device as training uses it: what is above Device and differs between the host's
/// processors and GPUs. One that is added (docs/new-device.md) is a file that makes a Platform, and
/// a line in platforms.cpp.
#pragma once

#include "collectives/communicator.hpp"
#include "collectives/tcp/data_plane.hpp"
#include "core/config/capabilities.hpp"
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

/// Told what takes long, and what was chosen, while a device prepares a model: a line each, from
/// any thread.
using SayLine = std::function<void(const std::string& line)>;

/// How a device wants a model's graph made, and compiled. The memory plan is the caller's to add.
struct EngineOptions {
  nn::PassOptions passes;
  CompileOptions compile;
};

/// What fills the micro-batches of one rank, for one purpose.
struct ProducerOptions {
  std::shared_ptr<const data::BatchAssembler> assembler;
  int rank = 0;
  data::Slice slice; ///< the first, and so a largest one
  std::int64_t slots = 2;
  nn::InputFormat format;                 ///< that the model takes
  std::vector<LoaderStream> host_streams; ///< read and augment, whatever the device is
  /// Gets the streams that the filler adds, which must be drained before the devices go.
  std::vector<LoaderStream>* streams = nullptr;
  metrics::Trace trace; ///< of those streams
};

/// A worker of this node among the ranks of a group.
struct GroupMember {
  int worker = 0;
  int rank = 0; ///< in the group
};

/// Where a group of ranks meets.
struct GroupPlace {
  std::string name; ///< differs for every group of a generation
  int world_size = 1;
  /// Null where all ranks are in this process.
  std::shared_ptr<collectives::ConnectionGroup> connection_group = nullptr;
  std::vector<Endpoint> endpoints = {};          ///< of the processes of all ranks, in a meeting
  std::string node = {};                         ///< its name, for people
  std::chrono::milliseconds collective, connect; ///< timeouts
  /// Its calls have no order among those of other groups (ADR 0011).
  bool apart = false;
};

using Communicators = std::vector<std::unique_ptr<collectives::Communicator>>;

/// The devices of a node's workers, which count from 0.
class PlatformDevices {
public:
  PlatformDevices() = default;
  PlatformDevices(const PlatformDevices&) = delete;
  PlatformDevices& operator=(const PlatformDevices&) = delete;
  virtual ~PlatformDevices() = default;

  /// The device of the next worker, which lives at least as long as this. Errors: unsupported where
  /// the machine has none.
  virtual Result<std::shared_ptr<Device>> add() = 0;
  /// As add(), for a plan: graphs are compiled for the device, fillers are made, and nothing runs.
  /// Its buffers have no memory where the platform can do without.
  virtual Result<std::shared_ptr<Device>> add_for_planning() { return add(); }
  /// Errors: unsupported where a library that the device needs is missing.
  virtual Result<EngineOptions> engine_options(int worker) = 0;
  /// Multiplications and additions that the worker's device does a second at most, in products of
  /// the precision's types; 0: nobody knows. Of the host it is the largest measurement so far; the
  /// first call, once all workers are added, measures, and blocks for some 10 ms.
  virtual Result<double> peak_operations(int worker, Precision precision) = 0;
  /// Where the peak is measured: enqueues another measurement on a stream of the worker's device,
  /// and passes the largest so far to `then`, on the stream's thread. Else does nothing.
  // NOLINTBEGIN(performance-unnecessary-value-param): an override keeps it until it is called
  virtual void measure_peak(int /*worker*/, Precision /*precision*/, Stream& /*stream*/,
                            std::function<void(double)> /*then*/) {}
  // NOLINTEND(performance-unnecessary-value-param)
  /// What the loader would like to write; `augments`: the device makes images itself
  /// (data::may_augment_on_device). What it writes is what the model takes.
  virtual nn::InputFormat preferred_input(bool augments) const = 0;
  /// Errors: out_of_memory; unsupported for a residency that the data set does not allow.
  virtual Result<std::shared_ptr<BatchProducer>> make_producer(int worker,
                                                               ProducerOptions options) = 0;
  /// Two ranks or more, in the order of `members`. Blocks until all are connected. Errors: network,
  /// when some rank does not come in time; unsupported; collective.
  virtual Result<Communicators> make_group(std::span<const GroupMember> members,
                                           const GroupPlace& place) = 0;
  /// Called when all streams of a generation exist and none is in use yet. Makes sure that none of
  /// them blocks another.
  virtual void separate_streams() {}
};

using MakeDevices = std::unique_ptr<PlatformDevices> (*)(const Config& config, const SayLine& say);

/// What this build has of a kind of device, and what this machine has. A build without it has a
/// Platform too, which says so.
struct Platform {
  std::string_view name; ///< as devices.kind says it
  /// Whether a job takes it where devices.kind leaves that open.
  bool (*suits)(const DevicesConfig& devices);
  MakeDevices make_devices;
  /// What a worker computes in: "fp32 arithmetic, fp16 activations".
  std::string (*arithmetic)(const Config& config, Precision precision);
  void (*add_capabilities)(Capabilities& capabilities);
  Traits (*traits)();
  /// What has to be so before the first call of a library. It may change the environment: to be
  /// called while the process has one thread. Errors: invalid_input, for a variable of the
  /// environment that is wrong.
  Status (*prepare_process)();
};

} // namespace troupe::training
