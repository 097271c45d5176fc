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

/// Completes the event at the latest on destruction, so that the waiting stream resumes.
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

/// A call that a rank's stream waits for. The rank's thread calls CUDA and may be blocked there
/// until this wait ends, so the timeout does not depend on that thread.
struct Watched {
  std::shared_ptr<cpu::HostEvent> done;
  std::shared_ptr<gpu::StreamMark> came; ///< marks the call in the rank's stream
  std::shared_ptr<Rendezvous> rendezvous;
  int rank;
  std::string call;

  /// Runs on a thread that must not call CUDA.
  std::optional<Status> poll() const {
    if (done->ready())
      return done->wait();
    // The rank's thread gives up after one timeout and knows which rank is missing.
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

class SharedCudaCommunicator final : public Communicator {
public:
  SharedCudaCommunicator(const std::shared_ptr<Rendezvous>& rendezvous, int rank,
                         gpu::CudaDevice& device)
      : Communicator{rank, rendezvous->world_size()}, member_{std::make_shared<GroupMember>(
                                                          rendezvous, rank)},
        work_{device.create_stream({.name = "collectives", .urgent = true})},
        thread_{{.name = "collectives"}} {}

  void abort(const Error& reason) override { member_->rendezvous->abort(reason); }

private:
  void enqueue(Stream& stream, const Call& call) override {
    auto& on = gpu::cuda_stream(stream);
    if (on.failed()) // the other ranks time out or see that this rank left
      return;
    auto done = std::make_shared<cpu::HostEvent>();
    const auto came = on.mark();
    thread_.wait(on.record_for_host());
    thread_.enqueue([member = member_, call, completion = std::make_shared<Completion>(done),
                     &work = gpu::cuda_stream(*work_)]() -> Status {
      CudaSharedMemory memory{work};
      completion->reach(exchange(*member, call, memory));
      return {}; // the event carries the error; later calls still have to run, to report theirs
    });
    on.wait_for([watched = Watched{std::move(done), came, member_->rendezvous, rank(),
                                   call.name()}] { return watched.poll(); });
  }

  std::shared_ptr<GroupMember> member_;
  std::unique_ptr<Stream> work_;
  cpu::HostStream thread_; ///< last: drained before the members that it uses are destroyed
};

} // namespace

Result<std::vector<std::unique_ptr<Communicator>>>
make_shared_cuda_group(std::span<const std::shared_ptr<gpu::CudaDevice>> devices,
                       std::chrono::milliseconds timeout) {
  if (devices.size() > gpu::SumSources::most)
    return fail(Errc::unsupported,
                "{} ranks share the GPUs of one process, but at most {} are supported",
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
