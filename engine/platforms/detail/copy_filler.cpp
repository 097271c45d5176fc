#include "copy_filler.hpp"

#include "troupe/cpu/host_stream.hpp"

namespace troupe::engine {

Result<std::unique_ptr<CopyFiller>> CopyFiller::create(gpu::CudaDevice& device, Options options) {
  const auto count = options.slots;
  std::unique_ptr<CopyFiller> filler{new CopyFiller{device, std::move(options)}};
  for (std::int64_t i = 0; i < count; ++i) {
    auto slot = filler->make_slot();
    if (!slot)
      return failure(slot.error());
    filler->slots_.push_back(*std::move(slot));
  }
  return filler;
}

Result<CopyFiller::Slot> CopyFiller::make_slot() const {
  auto there = options_.assembler->allocate(device_, options_.slice);
  if (!there)
    return failure(there.error());
  data::BatchBuffer staged{.memory = {}, .view = there->view, .samples = there->samples};
  for (auto& tensor : staged.view) {
    auto memory = device_.allocate_pinned(tensor.bytes());
    if (!memory)
      return failure(memory.error());
    tensor.data = (*memory)->data();
    staged.memory.push_back(*std::move(memory));
  }
  return Slot{std::move(staged), *std::move(there)};
}

Filling CopyFiller::fill(std::int32_t index, data::Position at, const data::Slice& slice,
                         const Failed& failed) {
  const auto& slot = slots_[static_cast<std::size_t>(index)];
  const auto& [host_pointer, host_row] =
      options_.host_streams[next_stream_++ % options_.host_streams.size()];
  auto& host = *host_pointer;
  const auto host_span = host_row.span(host, batch_span);
  cpu::host_stream(host).enqueue([assembler = options_.assembler, staged = slot.staged, at, slice] {
    return assembler->fill(at, slice, staged.fields());
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

} // namespace troupe::engine
