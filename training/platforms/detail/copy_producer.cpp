#include "training/platforms/detail/copy_producer.hpp"

#include "core/fail.hpp"

namespace troupe::training {

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

} // namespace troupe::training
