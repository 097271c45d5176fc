#include "training/platforms/detail/copy_producer.hpp"

#include "core/fail.hpp"
#include "cpu/host_stream.hpp"

namespace troupe::training {

Result<std::unique_ptr<CopyProducer>> CopyProducer::create(gpu::CudaDevice& device,
                                                           Options options) {
  const auto count = options.slots;
  std::unique_ptr<CopyProducer> producer{new CopyProducer{device, std::move(options)}};
  for (std::int64_t i = 0; i < count; ++i) {
    TROUPE_TRY(auto slot, producer->make_slot());
    producer->slots_.push_back(std::move(slot));
  }
  return producer;
}

Result<CopyProducer::Slot> CopyProducer::make_slot() const {
  TROUPE_TRY(auto there, options_.assembler->allocate(device_, options_.slice));
  data::BatchBuffer staged{.memory = {}, .view = there.view, .samples = there.samples};
  for (auto& tensor : staged.view) {
    TROUPE_TRY(auto memory, device_.allocate_pinned(tensor.bytes()));
    tensor.data = memory->data();
    staged.memory.push_back(std::move(memory));
  }
  return Slot{std::move(staged), std::move(there)};
}

Filling CopyProducer::fill(std::int32_t index, data::Position at, const data::Slice& slice,
                           const Failed& failed) {
  const auto& slot = slots_[static_cast<std::size_t>(index)];
  const auto& [host_pointer, host_row, work] =
      options_.host_streams[next_stream_++ % options_.host_streams.size()];
  auto& host = *host_pointer;
  const auto host_span = host_row.span(host, batch_span);
  cpu::host_stream(host).enqueue(
      [assembler = options_.assembler, staged = slot.staged, at, slice, work = work] {
        return work->time([&] { return assembler->fill(at, slice, staged.fields()); });
      });
  auto& stream = *options_.stream.stream;
  stream.wait(host.record());
  const auto span = options_.stream.row.span(stream, batch_span);
  for (std::size_t i = 0; i < slot.there.memory.size(); ++i)
    device_.copy(stream, slot.there.memory[i]->data(), slot.staged.memory[i]->data(),
                 slot.there.memory[i]->bytes());
  report_failure(host, failed);
  report_failure(stream, failed);
  return {slot.there.view, stream.record()};
}

} // namespace troupe::training
