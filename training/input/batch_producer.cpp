#include "training/input/batch_producer.hpp"

#include "cpu/host_stream.hpp"

namespace troupe::training {

void report_failure(Stream& stream, const LoadFailed& failed) {
  stream.on_complete([failed](const Status& status) {
    if (!status)
      failed(status.error());
  });
}

EventPtr HostLoader::enqueue(std::function<Status()> load, const LoadFailed& failed) {
  const auto& [stream, row] = streams_[next_++ % streams_.size()];
  const auto span = row.span(*stream, batch_span);
  cpu::host_stream(*stream).enqueue(
      [load = std::move(load), work = work_] { return work->time(load); });
  report_failure(*stream, failed);
  return stream->record();
}

MicroBatch BatchProducer::fill(std::int32_t slot, data::Position at, const data::Slice& slice,
                               const LoadFailed& failed) {
  return {.slot = slot,
          .samples = sampler().samples(at, slice),
          .view = view(slot),
          .ready = enqueue(slot, at, slice, failed)};
}

EventPtr HostProducer::enqueue(std::int32_t slot, data::Position at, const data::Slice& slice,
                               const LoadFailed& failed) {
  return host_.enqueue([assembler = assembler(), buffer = buffer(slot), at,
                        slice] { return assembler->fill(at, slice, buffer.fields()); },
                       failed);
}

} // namespace troupe::training
