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

Result<Fillers> FillerFactory::make(int rank, Equipment& equipment) {
  Fillers fillers;
  auto training = filler(feed_.training, {rank, feed_.world_size, 0, feed_.accumulate},
                         config_.data.prefetch, equipment);
  if (!training)
    return failure(training.error());
  fillers.training = std::move(*training);
  if (!feed_.evaluation)
    return fillers;
  auto evaluation =
      filler(feed_.evaluation, {rank, feed_.world_size, 0, 1}, evaluation_slots, equipment);
  if (!evaluation)
    return failure(evaluation.error());
  fillers.evaluation = std::move(*evaluation);
  return fillers;
}

Result<std::shared_ptr<BatchFiller>> FillerFactory::filler(const Assembler& assembler,
                                                           const data::Slice& slice,
                                                           std::int64_t slots,
                                                           Equipment& equipment) {
#ifdef TROUPE_HAS_CUDA
  if (equipment.device->info().kind == DeviceKind::cuda)
    return on_cuda(assembler, slice, slots, equipment);
#endif
  return on_host(assembler, slice, slots, *equipment.device);
}

#ifdef TROUPE_HAS_CUDA
Result<std::shared_ptr<BatchFiller>> FillerFactory::on_cuda(const Assembler& assembler,
                                                            const data::Slice& slice,
                                                            std::int64_t slots,
                                                            Equipment& equipment) {
  auto& device = static_cast<gpu::CudaDevice&>(*equipment.device);
  const LoaderStream stream{device.create_stream({.name = "loader"}),
                            trace_.track(rank_rows(slice.rank), "loader")};
  streams_.push_back(stream);
  if (!assembler->dataset().extent())
    return shared(CopyFiller::create(device, {.assembler = assembler,
                                              .host_streams = host_streams_,
                                              .stream = stream,
                                              .slice = slice,
                                              .slots = slots}));
  auto resident = resident_copy(equipment, assembler->dataset());
  if (!resident)
    return failure(resident.error());
  return shared(DeviceFiller::create(device, {.assembler = assembler,
                                              .resident = *std::move(resident),
                                              .host_streams = host_streams_,
                                              .stream = stream,
                                              .slice = slice,
                                              .slots = static_cast<std::int32_t>(slots),
                                              .format = equipment.input}));
}

Result<std::shared_ptr<const ResidentDataset>>
FillerFactory::resident_copy(Equipment& equipment, const data::Dataset& dataset) const {
  std::shared_ptr<const ResidentDataset> nothing;
  if (config_.data.residency == "host")
    return nothing;
  auto& copy = equipment.residents[&dataset];
  if (copy)
    return copy;
  auto made = make_resident(static_cast<gpu::CudaDevice&>(*equipment.device), dataset);
  if (made)
    return copy = *std::move(made);
  // What does not fit is no error unless it was asked for.
  if (config_.data.residency == "auto" && made.error().code == Errc::out_of_memory)
    return nothing;
  return made;
}
#endif

Result<std::shared_ptr<BatchFiller>> FillerFactory::on_host(const Assembler& assembler,
                                                            const data::Slice& slice,
                                                            std::int64_t slots, Device& device) {
  std::vector<data::BatchBuffer> buffers;
  for (std::int64_t i = 0; i < slots; ++i) {
    auto buffer = assembler->allocate(device, slice);
    if (!buffer)
      return failure(buffer.error());
    buffers.push_back(std::move(*buffer));
  }
  return std::make_shared<HostFiller>(assembler, std::move(buffers), host_streams_);
}

} // namespace troupe::engine
