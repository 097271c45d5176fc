#include "fillers.hpp"

#include "../devices.hpp"
#include "../trace_rows.hpp"

#include "troupe/core/fail.hpp"
#include "troupe/nn/compile.hpp"

namespace troupe::engine {

namespace {

/// Batches of the test set under way: one is read while the other is filled.
constexpr std::int64_t evaluation_slots = 2;

#ifdef TROUPE_HAS_CUDA
template <class Filler>
Result<std::shared_ptr<BatchFiller>> shared(Result<std::unique_ptr<Filler>> filler) {
  if (!filler)
    return failure(std::move(filler).error());
  return std::shared_ptr<BatchFiller>{*std::move(filler)};
}
#endif

} // namespace

nn::InputFormat preferred_input(const Config& config, bool one_size) {
  // Images of different sizes are augmented on the host, which writes f32.
  if (device_kind(config.devices) == DeviceKind::host || !one_size)
    return {};
  return {.dtype = nn::image_type(config), .channels = 4};
}

Result<Fillers> FillerFactory::make(Replica& replica) {
  Fillers fillers;
  auto training =
      filler(replica, training_, static_cast<int>(config_.train.accumulate), config_.data.prefetch);
  if (!training)
    return failure(training.error());
  fillers.training = std::move(*training);
  if (evaluation_) {
    auto evaluation = filler(replica, evaluation_, 1, evaluation_slots);
    if (!evaluation)
      return failure(evaluation.error());
    fillers.evaluation = std::move(*evaluation);
  }
  return fillers;
}

Result<std::shared_ptr<BatchFiller>> FillerFactory::filler(Replica& replica,
                                                           const Assembler& assembler,
                                                           int micro_batches, std::int64_t slots) {
  const data::Slice slice{replica.rank, world_size_, 0, micro_batches};
#ifdef TROUPE_HAS_CUDA
  if (replica.device->info().kind == DeviceKind::cuda)
    return on_cuda(replica, assembler, slice, slots);
#endif
  return on_host(replica, assembler, slice, slots);
}

#ifdef TROUPE_HAS_CUDA
Result<std::shared_ptr<BatchFiller>> FillerFactory::on_cuda(Replica& replica,
                                                            const Assembler& assembler,
                                                            const data::Slice& slice,
                                                            std::int64_t slots) {
  auto& device = static_cast<gpu::CudaDevice&>(*replica.device);
  const LoaderStream stream{device.create_stream({.name = "loader"}),
                            trace_.track(rank_rows(replica.rank), "loader")};
  streams_.push_back(stream);
  if (!assembler->dataset().extent())
    return shared(CopyFiller::create(device, {.assembler = assembler,
                                              .host_streams = host_streams_,
                                              .stream = stream,
                                              .slice = slice,
                                              .slots = slots}));
  auto resident = resident_copy(device, assembler->dataset());
  if (!resident)
    return failure(resident.error());
  return shared(DeviceFiller::create(device, {.assembler = assembler,
                                              .resident = *std::move(resident),
                                              .host_streams = host_streams_,
                                              .stream = stream,
                                              .slice = slice,
                                              .slots = static_cast<std::int32_t>(slots),
                                              .format = replica.input}));
}

Result<std::shared_ptr<const ResidentDataset>>
FillerFactory::resident_copy(gpu::CudaDevice& device, const data::Dataset& dataset) {
  std::shared_ptr<const ResidentDataset> nothing;
  if (config_.data.residency == "host")
    return nothing;
  auto resident = make_resident(device, dataset);
  // What does not fit is no error unless it was asked for.
  if (!resident && config_.data.residency == "auto" && resident.error().code == Errc::out_of_memory)
    return nothing;
  return resident;
}
#endif

Result<std::shared_ptr<BatchFiller>> FillerFactory::on_host(Replica& replica,
                                                            const Assembler& assembler,
                                                            const data::Slice& slice,
                                                            std::int64_t slots) {
  std::vector<data::BatchBuffer> buffers;
  for (std::int64_t i = 0; i < slots; ++i) {
    auto buffer = assembler->allocate(*replica.device, slice);
    if (!buffer)
      return failure(buffer.error());
    buffers.push_back(std::move(*buffer));
  }
  return std::make_shared<HostFiller>(assembler, std::move(buffers), host_streams_);
}

} // namespace troupe::engine
