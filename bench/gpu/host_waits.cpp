// Cost of a stream that waits for the host (gpu/wait_flags.hpp) on this machine: how late it
// resumes, how many streams may wait at a time, and which host calls block until it resumes. Prints
// one JSON object.
#include "gpu/cublas/matmul.hpp"
#include "gpu/cuda_device.hpp"
#include "gpu/cuda_graph.hpp"
#include "gpu/cudnn/patterns.hpp"
#include "gpu/cudnn/plan_search.hpp"
#include "gpu/kernels/elementwise.hpp"
#include "gpu/wait_flags.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

using namespace troupe;
using namespace troupe::gpu;
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::milliseconds time_limit{300};
constexpr std::size_t bytes = std::size_t{1} << 20;

double milliseconds(Clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

/// Makes streams wait for one word of the host, which no other thread has to poll.
class Gate {
public:
  explicit Gate(WaitFlags& flags) : flags_{flags}, flag_{flags.take().value()} {}
  ~Gate() { flags_.give_back(flag_); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void hold(CudaStream& stream) {
    stream.enqueue("wait", [&](cudaStream_t raw) { return flags_.enqueue_wait(raw, flag_); });
  }
  void open() { WaitFlags::raise(flag_); }

private:
  WaitFlags& flags_;
  std::uint32_t* flag_;
};

class Probe {
public:
  explicit Probe(CudaDevice& device)
      : device_{device}, memory_{device.allocate(bytes, MemoryKind::workspace).value()},
        waiting_{device.create_stream({.name = "waiting"})}, free_{device.create_stream(
                                                                 {.name = "free"})} {}

  /// Returns the milliseconds that `call` took while a stream waited. The stream waits until `call`
  /// returns, at most for `time_limit`.
  double held_up(const std::function<void()>& call) {
    Gate gate{flags_};
    gate.hold(cuda_stream(*waiting_));
    std::atomic<bool> back = false;
    std::thread opener{[&] {
      const auto end = Clock::now() + time_limit;
      while (!back && Clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
      gate.open();
    }};
    const auto start = Clock::now();
    call();
    const auto took = Clock::now() - start;
    back = true;
    opener.join();
    (void)waiting_->synchronize();
    (void)free_->synchronize();
    return milliseconds(took);
  }

  /// Returns the median time from the host's write to the stream's resumption.
  double latency_us() {
    std::vector<double> found;
    for (int i = 0; i < 21; ++i) {
      Gate gate{flags_};
      gate.hold(cuda_stream(*waiting_));
      const auto on = waiting_->record();
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
      const auto opened = Clock::now();
      gate.open();
      (void)waiting_->synchronize();
      found.push_back(1e-3 * static_cast<double>((on->time() - opened.time_since_epoch()).count()));
    }
    std::ranges::sort(found);
    return found[found.size() / 2];
  }

  /// Returns how many streams can wait without blocking another one.
  int most_waiting() {
    constexpr int most = 32;
    std::vector<std::unique_ptr<Stream>> streams;
    streams.reserve(most);
    for (int i = 0; i < most; ++i)
      streams.push_back(device_.create_stream({.name = "one of many"}));
    Gate gate{flags_};
    for (int i = 0; i < most; ++i) {
      const auto last = streams[static_cast<std::size_t>(i)].get();
      device_.zero(*last, memory_->data(), bytes);
      if (!reached_in_time(*last->record())) {
        gate.open();
        streams.clear();
        return i;
      }
      gate.hold(cuda_stream(*last));
    }
    gate.open();
    streams.clear(); // before the gate is destroyed
    return most;
  }

  CudaDevice& device() { return device_; }
  Stream& stream() { return *free_; }
  float* values() { return memory_->floats(); }

private:
  static bool reached_in_time(const Event& event) {
    const auto end = Clock::now() + time_limit;
    while (!event.ready() && Clock::now() < end)
      std::this_thread::sleep_for(std::chrono::microseconds{100});
    return event.ready();
  }

  CudaDevice& device_;
  WaitFlags flags_{0};
  BufferPtr memory_;
  std::unique_ptr<Stream> waiting_, free_;
};

using Note = std::function<void(const char* name, const std::function<void()>& call)>;

/// Creates a plan, a stream and memory first, so that only the first execution is timed. Reports
/// nothing on a machine without the library.
void first_call_of_cudnn(Probe& probe, const Note& note) {
  const auto library = open_cudnn(library_places_of_process());
  if (!library)
    return;
  const auto target = cudnn::Target::of_device(*library, 0);
  if (!target)
    return;
  const auto graph = cudnn::convolution_forward({4, 16, 16, 64, 64, 3, 1, 1, CUDNN_DATA_HALF});
  const auto plans = cudnn::find_plans(*target, graph, {});
  if (!plans)
    return;
  auto& on = cuda_stream(probe.stream());
  const auto& plan = plans->front();
  std::vector<BufferPtr> memory;
  std::vector<cudnn::Binding> bindings;
  const auto take = [&](std::size_t size) {
    memory.push_back(probe.device().allocate(size, MemoryKind::workspace).value());
    return memory.back()->data();
  };
  for (const auto& tensor : graph.tensors)
    if (tensor.is_bound())
      bindings.push_back({tensor.uid, take(bytes)}); // more than any tensor needs
  auto* const workspace = take(plan.workspace_bytes());
  note("first call of cuDNN", [&] {
    on.enqueue("cuDNN", [&](cudaStream_t raw) -> Status {
      if (auto chosen = target->use_stream(raw); !chosen)
        return chosen;
      return plan.execute(*target, bindings, workspace);
    });
  });
  (void)target->use_stream(nullptr);
}

void first_call_of_cublas_lt(Probe& probe, const Note& note) {
  const auto library = open_cublas_lt(library_places_of_process());
  if (!library)
    return;
  const auto handle = CublasLt::create(*library, 0);
  if (!handle)
    return;
  const auto products = Matmul::candidates(
      *handle, {.rows = 64, .in = 64, .out = 64, .operands = DType::f16, .workspace_bytes = bytes},
      1);
  if (!products)
    return;
  const auto memory = probe.device().allocate(4 * bytes, MemoryKind::workspace).value();
  const auto at = [&](std::size_t index) { return memory->data() + index * bytes; };
  auto& on = cuda_stream(probe.stream());
  note("first call of cuBLASLt", [&] {
    on.enqueue("cuBLASLt", [&](cudaStream_t raw) {
      return products->front().run(raw, {at(0), at(1), at(2), at(3)});
    });
  });
}

/// Calls that destroy or free something. They bypass CudaDevice, which would postpone those that
/// wait for an idle device.
void calls_that_end_things(Probe& probe, const Note& note) {
  auto& on = cuda_stream(probe.stream());
  cudaEvent_t event = nullptr;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  note("ending an event", [&] { cudaEventDestroy(event); });
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  cudaMemPool_t pool = nullptr;
  cudaMemPoolCreate(&pool, &properties);
  note("trimming a pool", [&] { cudaMemPoolTrimTo(pool, 0); });
  cudaMemPoolDestroy(pool);
  void* locked = nullptr;
  cudaHostAlloc(&locked, bytes, cudaHostAllocPortable);
  const auto reached = on.record();
  std::thread freeing;
  note("query of a second stream's event beside freeing page-locked memory", [&] {
    freeing = std::thread{[locked] { cudaFreeHost(locked); }};
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    (void)reached->ready();
  });
  freeing.join();
}

/// Returns the milliseconds of host calls made while a stream waits for the host, by name.
Json calls_beside_a_wait(Probe& probe) {
  Json took;
  const Note note = [&](const char* name, const std::function<void()>& call) {
    took[name] = probe.held_up(call);
  };
  auto& device = probe.device();
  auto& on = cuda_stream(probe.stream());
  auto* const values = probe.values();
  const auto launch_first = [&](DType type) {
    return [&on, values, type] {
      on.enqueue("relu", [=](cudaStream_t raw) { launch_relu(raw, type, values, values, 64); });
    };
  };
  note("first launch of a module's kernel", launch_first(DType::f32));
  note("first launch of another of its kernels", launch_first(DType::f16));
  note("second launch", launch_first(DType::f16));
  const auto event = on.record();
  std::thread loading;
  note("query of an event beside a first launch", [&] {
    loading = std::thread{launch_first(DType::bf16)};
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    (void)event->ready();
  });
  loading.join();

  std::vector<BufferPtr> kept;
  const auto allocate = [&](MemoryKind kind) {
    return [&kept, &device, kind] { kept.push_back(device.allocate(64 * bytes, kind).value()); };
  };
  note("allocating memory of the device", allocate(MemoryKind::workspace));
  note("freeing memory of the device", [&] { kept.clear(); });
  note("allocating page-locked memory", allocate(MemoryKind::pinned));
  note("freeing page-locked memory", [&] { kept.clear(); });
  std::unique_ptr<Stream> made;
  note("making a stream", [&] { made = device.create_stream({.name = "made"}); });
  note("ending a stream", [&] { made.reset(); });
  std::vector<std::byte> pageable(bytes);
  note("copy from pageable memory",
       [&] { device.copy(on, values, pageable.data(), pageable.size()); });
  note("copy to pageable memory",
       [&] { device.copy(on, pageable.data(), values, pageable.size()); });
  CudaGraph graph;
  note("capture of a CUDA graph", [&] {
    (void)CudaGraph::begin_capture(on);
    device.add(on, values, values, 64);
    graph = CudaGraph::end_capture(on).value();
  });
  note("first launch of a CUDA graph", [&] { graph.launch(on); });
  note("ending a CUDA graph", [&] { graph = {}; });
  calls_that_end_things(probe, note);
  first_call_of_cublas_lt(probe, note);
  first_call_of_cudnn(probe, note);
  return took;
}

} // namespace

int main() {
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0); // as troupe sets it
  const auto device = make_cuda_device(0);
  if (!device) {
    fmt::print(stderr, "{}\n", device.error().to_string());
    return device.error().exit_code();
  }
  Probe probe{**device};
  const auto took = calls_beside_a_wait(probe);
  Json held_up = Json::array();
  for (const auto& [name, time] : took.items())
    if (time.get<double>() > milliseconds(time_limit) / 2)
      held_up.push_back(name);
  const Json result{{"device", (*device)->info().name},
                    {"goes_on_after_us", probe.latency_us()},
                    {"streams_that_may_wait", probe.most_waiting()},
                    {"held_up", held_up},
                    {"milliseconds", took}};
  fmt::print("{}\n", result.dump());
}
