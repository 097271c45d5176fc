// NVIDIA GPUs through CUDA.
#include "collectives/nccl/library.hpp"
#include "core/config/config.hpp"
#include "core/fail.hpp"
#include "gpu/architectures.hpp"
#include "gpu/description.hpp"
#include "training/platforms/detail/cuda_driver.hpp"
#include "training/platforms/detail/cuda_groups.hpp"
#include "training/platforms/detail/cuda_options.hpp"
#include "training/platforms/detail/device_producer.hpp"
#include "training/platforms/detail/registered.hpp"
#include "training/trace_rows.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>

namespace troupe::training {

namespace {

/// Copies micro-batches that the host has written to a CUDA device: images of different sizes, rows
/// of a table. Host streams read and augment into page-locked memory; a stream of the device copies
/// it. Tensors are those of the assembler.
class CopyProducer final : public BatchProducer {
public:
  /// `stream`: of the device. Errors: out_of_memory; those of the sampler. The device must outlive
  /// the producer.
  static Result<std::shared_ptr<BatchProducer>>
  create(gpu::CudaDevice& device, ProducerOptions options, LoaderStream stream);

  std::int32_t slots() const override { return static_cast<std::int32_t>(slots_.size()); }

private:
  struct Slot {
    data::BatchBuffer staged; ///< page-locked
    data::BatchBuffer there;  ///< on the device
  };

  CopyProducer(gpu::CudaDevice& device, ProducerOptions options, LoaderStream stream)
      : BatchProducer{options.assembler}, device_{device}, options_{std::move(options)},
        stream_{std::move(stream)} {}
  Result<Slot> make_slot() const;
  const BatchView& view(std::int32_t slot) const override { return at(slot).there.view; }
  EventPtr enqueue(std::int32_t slot, data::Position at, const data::Slice& slice,
                   const LoadFailed& failed) override;
  const Slot& at(std::int32_t slot) const { return slots_[static_cast<std::size_t>(slot)]; }

  gpu::CudaDevice& device_;
  ProducerOptions options_;
  LoaderStream stream_;
  std::vector<Slot> slots_;
};

Result<std::shared_ptr<BatchProducer>>
CopyProducer::create(gpu::CudaDevice& device, ProducerOptions options, LoaderStream stream) {
  const auto count = options.slots;
  std::shared_ptr<CopyProducer> producer{
      new CopyProducer{device, std::move(options), std::move(stream)}};
  for (std::int64_t i = 0; i < count; ++i) {
    TROUPE_TRY(auto slot, producer->make_slot());
    producer->slots_.push_back(std::move(slot));
  }
  return producer;
}

Result<CopyProducer::Slot> CopyProducer::make_slot() const {
  TROUPE_TRY(auto there, assembler()->allocate(device_, options_.slice));
  data::BatchBuffer staged{.memory = {}, .view = there.view, .samples = there.samples};
  for (auto& tensor : staged.view) {
    TROUPE_TRY(auto memory, device_.allocate_pinned(tensor.bytes()));
    tensor.data = memory->data();
    staged.memory.push_back(std::move(memory));
  }
  return Slot{std::move(staged), std::move(there)};
}

EventPtr CopyProducer::enqueue(std::int32_t index, data::Position position,
                               const data::Slice& slice, const LoadFailed& failed) {
  const auto& [staged, there] = at(index);
  auto& stream = *stream_.stream;
  stream.wait(
      options_.host.enqueue([assembler = assembler(), staged = staged, position,
                             slice] { return assembler->fill(position, slice, staged.fields()); },
                            failed));
  const auto span = stream_.row.span(stream, batch_span);
  for (std::size_t i = 0; i < there.memory.size(); ++i)
    device_.copy(stream, there.memory[i]->data(), staged.memory[i]->data(),
                 there.memory[i]->bytes());
  report_failure(stream, failed);
  return stream.record();
}

class CudaDevices final : public PlatformDevices {
public:
  CudaDevices(const Config& config, SayLine say) : config_{config}, say_{std::move(say)} {}

  /// If there are fewer GPUs than workers, workers share GPUs.
  Result<std::shared_ptr<Device>> add() override {
    const auto gpus = std::max(1, gpu::cuda_device_count());
    TROUPE_TRY(auto device,
               gpu::make_cuda_device(static_cast<int>(workers_.size()) % gpus, say_, peers_));
    workers_.push_back({.device = std::move(device), .residents = {}});
    return workers_.back().device;
  }

  Result<EngineOptions> engine_options(int worker) override {
    return cuda_options(config_, *at(worker).device);
  }

  Result<double> peak_operations(int worker, Precision precision) override {
    const auto& peak = at(worker).device->info().peak;
    if (compute_type(precision) != DType::f32)
      return peak.narrow;
    return precision == Precision::tf32 ? peak.tf32 : peak.f32;
  }

  Result<DeviceLimits> limits(int worker, Precision precision) override {
    TROUPE_TRY(const auto peak, peak_operations(worker, precision));
    TROUPE_TRY(const auto clocks, gpu::clocks_of_device(at(worker).device->info().index));
    return DeviceLimits{.operations = peak, .memory = gpu::peak_bandwidth(clocks)};
  }

  nn::InputFormat preferred_input(bool augments) const override {
    return cuda_input(config_, augments);
  }

  Result<std::shared_ptr<BatchProducer>> make_producer(int worker,
                                                       ProducerOptions options) override;

  Result<Communicators> make_group(std::span<const GroupMember> members,
                                   const GroupPlace& place) override {
    std::vector<GpuMember> ranks;
    ranks.reserve(members.size());
    for (const auto& member : members)
      ranks.push_back({at(member.worker).device, member.rank});
    return groups_.make(ranks, place);
  }

  void separate_streams() override { peers_.streams->separate(say_); }

private:
  struct Worker {
    std::shared_ptr<gpu::CudaDevice> device;
    /// Data sets in its memory. The keys keep the sets alive, so that no other set gets the same
    /// address.
    std::map<data::ImageDatasetPtr, std::shared_ptr<const ResidentImages>> residents;
  };

  Worker& at(int worker) { return workers_[static_cast<std::size_t>(worker)]; }
  /// Returns null if pixels stay on the host.
  Result<std::shared_ptr<const ResidentImages>>
  resident_copy(Worker& worker, const data::ImageDatasetPtr& images) const;

  Config config_; ///< a copy: a node may get another job
  SayLine say_;
  gpu::DevicePeers peers_;
  std::vector<Worker> workers_;
  GpuGroups groups_;
};

Result<std::shared_ptr<BatchProducer>> CudaDevices::make_producer(int worker,
                                                                  ProducerOptions options) {
  auto& device = *at(worker).device;
  const LoaderStream stream{device.create_stream({.name = "loader"}),
                            options.trace.track(rank_rows(options.rank), "loader")};
  options.streams->push_back(stream);
  const auto* const images = options.assembler->adapter().images();
  if (!data::may_augment_on_device(options.assembler->adapter()))
    return CopyProducer::create(device, std::move(options), stream);
  TROUPE_TRY(auto resident, resident_copy(at(worker), images->source()));
  return DeviceProducer::create(device, std::move(options), stream, std::move(resident));
}

Result<std::shared_ptr<const ResidentImages>>
CudaDevices::resident_copy(Worker& worker, const data::ImageDatasetPtr& images) const {
  std::shared_ptr<const ResidentImages> nothing;
  if (config_.data.residency == Residency::host)
    return nothing;
  auto& copy = worker.residents[images];
  if (copy)
    return copy;
  auto made = make_resident(*worker.device, *images);
  if (made)
    return copy = *std::move(made);
  // A data set that does not fit is an error only if residency on the device is configured.
  if (config_.data.residency == Residency::automatic && made.error().code == Errc::out_of_memory)
    return nothing;
  return made;
}

/// Workers share a GPU only if the config asks for CUDA.
bool suits(const DevicesConfig& devices) {
  return devices.engine != Engine::interpreter && gpu::cuda_device_count() >= devices.count;
}

void add_capabilities(Capabilities& capabilities) {
  capabilities.cuda_build = true;
  const auto driver = probe_cuda_driver();
  capabilities.cuda_devices = static_cast<int>(driver.devices.size());
  capabilities.cuda_pinned = !driver.integrated;
}

Trait nccl_trait() {
  const auto nccl = collectives::open_nccl();
  int version = 0;
  if (nccl && nccl->version(&version) == ncclSuccess)
    return {"cuda", "NCCL",
            gpu::found_library(gpu::dotted(static_cast<std::size_t>(version)), nccl->file)};
  return {"cuda", "NCCL", nccl ? "" : nccl.error().message, false};
}

Traits traits() {
  const auto kernels = gpu::built_architectures();
  Traits all{{"cuda", "build", "with CUDA; kernels: " + gpu::to_string(kernels)}};
  std::ranges::move(gpu::library_traits(), std::back_inserter(all));
  all.push_back(nccl_trait());
  std::ranges::move(cuda_driver_traits(), std::back_inserter(all));
  const auto driver = probe_cuda_driver();
  for (std::size_t i = 0; i < driver.devices.size(); ++i)
    all.push_back(gpu::kernel_trait(i, kernels, driver.devices[i].capability));
  return all;
}

/// Requests all of CUDA's hardware queues. With 8, the default, streams of workers that share a GPU
/// would share queues, and those that wait for the host would block the others
/// (gpu/wait_flags.hpp).
Status take_connections() {
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  return {};
}

} // namespace

Platform cuda_platform() {
  return {.kind = DeviceKind::cuda,
          .suits = suits,
          .make_devices = [](const Config& config,
                             const SayLine& say) -> std::unique_ptr<PlatformDevices> {
            return std::make_unique<CudaDevices>(config, say);
          },
          .arithmetic =
              [](const Config&, Precision precision) {
                return describe(precision, compute_type(precision));
              },
          .add_capabilities = add_capabilities,
          .traits = traits,
          .prepare_process = take_connections};
}

} // namespace troupe::training
