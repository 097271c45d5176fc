#include "training/input/batch_producer.hpp"

#include "cpu/host_stream.hpp"

namespace troupe::training {

void BatchProducer::report_failure(Stream& stream, const Failed& failed) {
  stream.on_complete([failed](const Status& status) {
    if (!status)
      failed(status.error());
  });
}

Filling HostProducer::fill(std::int32_t slot, data::Position at, const data::Slice& slice,
                           const Failed& failed) {
  const auto& buffer = buffers_[static_cast<std::size_t>(slot)];
  const auto& [stream_pointer, row, work] = streams_[next_stream_++ % streams_.size()];
  auto& stream = *stream_pointer;
  const auto span = row.span(stream, batch_span);
  cpu::host_stream(stream).enqueue([assembler = assembler_, buffer, at, slice, work = work] {
    return work->time([&] { return assembler->fill(at, slice, buffer.fields()); });
  });
  report_failure(stream, failed);
  return {buffer.view, stream.record()};
}

} // namespace troupe::training
