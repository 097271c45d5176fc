#include "training/input/host_loader.hpp"

#include "cpu/host_stream.hpp"

#include <utility>

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

} // namespace troupe::training
