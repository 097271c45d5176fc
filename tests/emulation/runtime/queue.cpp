#include "tests/emulation/runtime/queue.hpp"

#include "tests/emulation/runtime/memory.hpp"
#include "tests/emulation/runtime/settings.hpp"

#include <array>
#include <atomic>
#include <future>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include <malloc.h>
#include <pthread.h>

namespace emulation {

namespace {

constexpr std::size_t most_devices = 8, most_connections = 32;

struct Device {
  std::mutex mutex;
  std::array<std::unique_ptr<Queue>, most_connections> queues;
  std::array<std::atomic<bool>, most_devices> peers = {};
};

Device& device_at(int index) {
  static auto* const all = new std::array<Device, most_devices>; // lives as long as its threads
  return (*all)[static_cast<std::size_t>(index)];
}

/// Keeps freed memory mapped. Operations allocate and free large arrays, a few each: half of their
/// time would be spent on pages that the system unmaps and maps again, filled with zeros.
void keep_memory_mapped() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20); // half of the largest size of a thread's heap
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
}

} // namespace

Queue::Queue(int device) {
  keep_memory_mapped();
  std::thread{[this, device] {
    pthread_setname_np(pthread_self(), "emulated queue");
    run(device);
  }}.detach();
}

void Queue::push(Work work) {
  {
    const std::lock_guard lock{mutex_};
    waiting_.push_back(std::move(work));
  }
  changed_.notify_one();
}

void Queue::drain() {
  auto reached = std::make_shared<std::promise<void>>();
  auto future = reached->get_future();
  push([reached] { reached->set_value(); });
  future.wait();
}

void Queue::run(int device) {
  const DeviceAccess own{device};
  for (;;) {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return !waiting_.empty(); });
    const auto work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    random_delay();
    std::vector<std::unique_ptr<DeviceAccess>> peers;
    for (int peer = 0; peer < settings().devices; ++peer)
      if (device_at(device).peers[static_cast<std::size_t>(peer)])
        peers.push_back(std::make_unique<DeviceAccess>(peer));
    work();
  }
}

Queue& queue_of(int device, unsigned stream) {
  auto& owner = device_at(device);
  const std::lock_guard lock{owner.mutex};
  auto& queue = owner.queues[stream % static_cast<unsigned>(settings().connections)];
  if (!queue)
    queue = std::make_unique<Queue>(device);
  return *queue;
}

void drain_device(int device) {
  std::vector<Queue*> queues;
  {
    auto& owner = device_at(device);
    const std::lock_guard lock{owner.mutex};
    for (const auto& queue : owner.queues)
      if (queue)
        queues.push_back(queue.get());
  }
  for (auto* const queue : queues)
    queue->drain();
}

void enable_peer(int device, int peer) {
  device_at(device).peers[static_cast<std::size_t>(peer)] = true;
}

} // namespace emulation
