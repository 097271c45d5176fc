#include "collectives/shared_device/cuda_communicator.hpp"

#include "collectives/shared_device/detail/exchange.hpp"
#include "core/fail.hpp"
#include "cpu/host_stream.hpp"
#include "gpu/kernels/sum.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

namespace troupe::collectives {

namespace {

class CudaSharedMemory final : public SharedMemory {
public:
  explicit CudaSharedMemory(gpu::CudaStream& stream) : stream_{stream} {}

  void copy(void* to, const void* from, std::size_t bytes) override {
    stream_.enqueue("copy between ranks", [=](cudaStream_t s) {
      cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, s);
    });
  }
  void sum(DType type, std::span<const void* const> sources, void* sum,
           std::size_t elements) override {
    gpu::SumSources all{.count = static_cast<int>(sources.size())};
    std::ranges::copy(sources, all.data);
    stream_.enqueue("sum over ranks",
                    [&](cudaStream_t s) { gpu::launch_sum(s, type, all, sum, elements); });
  }
  std::size_t piece_elements() const override { return std::numeric_limits<std::size_t>::max(); }
  Status finish() override { return stream_.synchronize(); }

private:
  gpu::CudaStream& stream_;
};

/// Reaches the event at the latest when it goes, so that the stream that waits for it goes on.
class Completion {
public:
  explicit Completion(std::shared_ptr<cpu::HostEvent> event) : event_{std::move(event)} {}
  ~Completion() {
    if (!event_->ready())
      event_->reach(fail(Errc::collective, "the rank left before its call was done"));
  }
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;

  void reach(Status status) { event_->reach(std::move(status)); }

private:
  std::shared_ptr<cpu::HostEvent> event_;
};

/// A call that a rank's stream waits for. The rank's thread calls CUDA, and may be blocked there
/// until this very wait ends: the time-out does not depend on it.
struct Watched {
  std::shared_ptr<cpu::HostEvent> done;
  std::shared_ptr<gpu::StreamMark> came; ///< where the rank's stream comes to the call
  std::shared_ptr<Rendezvous> rendezvous;
  int rank;
  std::string call;

  /// Runs on a thread that must not call CUDA.
  std::optional<Status> poll() const {
    if (done->ready())
      return done->wait();
    // The rank's own thread gives up after one time-out and knows which rank is missing.
    const auto limit = 2 * rendezvous->timeout();
    const auto waited = came ? came->age() : std::nullopt;
    if (!waited || *waited <= limit)
      return std::nullopt;
    const Error why{
        Errc::collective,
        fmt::format("{} timed out after {} ms: a rank's thread is blocked in the driver", call,
                    limit.count()),
        {.rank = rank}};
    rendezvous->abort(why);
    return failure(why);
  }
};

class SharedCudaCommunicator final : public CallCommunicator {
public:
  SharedCudaCommunicator(const std::shared_ptr<Rendezvous>& rendezvous, int rank,
                         gpu::CudaDevice& device)
      : CallCommunicator{rank, rendezvous->world_size()}, seat_{std::make_shared<Seat>(rendezvous,
                                                                                       rank)},
        work_{device.create_stream({.name = "collectives", .urgent = true})},
        thread_{{.name = "collectives"}} {}

  void abort(const Error& reason) override { seat_->rendezvous->abort(reason); }

private:
  void enqueue(Stream& stream, const Call& call) override {
    auto& on = gpu::cuda_stream(stream);
    if (on.failed()) // the others find that this rank does not come
      return;
    auto done = std::make_shared<cpu::HostEvent>();
    const auto came = on.mark();
    thread_.wait(on.record_for_host());
    thread_.enqueue([seat = seat_, call, completion = std::make_shared<Completion>(done),
                     &work = gpu::cuda_stream(*work_)]() -> Status {
      CudaSharedMemory memory{work};
      completion->reach(exchange(*seat, call, memory));
      return {}; // the event tells what went wrong; later calls must be told, too
    });
    on.wait_for([watched = Watched{std::move(done), came, seat_->rendezvous, rank(), call.name()}] {
      return watched.poll();
    });
  }

  std::shared_ptr<Seat> seat_;
  std::unique_ptr<Stream> work_;
  cpu::HostStream thread_; ///< last: it is drained before what it uses goes
};

} // namespace

Result<std::vector<std::unique_ptr<Communicator>>>
make_shared_cuda_group(std::span<const std::shared_ptr<gpu::CudaDevice>> devices,
                       std::chrono::milliseconds timeout) {
  if (devices.size() > gpu::SumSources::most)
    return fail(Errc::unsupported, "{} ranks share GPUs of one process: at most {} can",
                devices.size(), gpu::SumSources::most);
  for (const auto& from : devices)
    for (const auto& to : devices)
      TROUPE_TRY(to->open_memory_to(*from));
  const auto rendezvous = std::make_shared<Rendezvous>(static_cast<int>(devices.size()), timeout);
  std::vector<std::unique_ptr<Communicator>> group;
  group.reserve(devices.size());
  for (const auto& device : devices)
    group.push_back(std::make_unique<SharedCudaCommunicator>(
        rendezvous, static_cast<int>(group.size()), *device));
  return group;
}

} // namespace troupe::collectives
