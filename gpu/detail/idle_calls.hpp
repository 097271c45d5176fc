/// CUDA calls that return only when a device has become idle, and that block calls of other threads
/// until then: freeing page-locked memory, trimming a pool (NVIDIA/nccl#48).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace troupe::gpu {

/// Makes such calls only while no stream waits for the host. A device does not become idle during a
/// wait, and the thread that would end the wait may be one of the blocked ones. Freeing page-locked
/// memory waits for all devices of the process, so they share one object. Thread-safe. Must be held
/// by a shared_ptr.
class IdleCalls : public std::enable_shared_from_this<IdleCalls> {
public:
  /// Returns the object that all nodes of this process share (docs/adr/0041). It lives as long as
  /// something holds it.
  static std::shared_ptr<IdleCalls> of_process();

  IdleCalls() = default;
  /// Frees the remaining memory.
  ~IdleCalls();
  IdleCalls(const IdleCalls&) = delete;
  IdleCalls& operator=(const IdleCalls&) = delete;

  /// Returns a token; no such call is made until its last copy is destroyed. Blocks while a call is
  /// in progress.
  std::shared_ptr<void> forbid();
  /// Makes the call unless a token forbids it. Returns whether it was made.
  bool try_call(const std::function<void()>& call);
  /// Frees page-locked memory now, or when the last token is destroyed.
  void free_host(void* memory, std::size_t bytes, int device);
  /// Takes the smallest block of `bytes` to `most` bytes that is not freed yet; null if there is
  /// none. The block may be handed to free_host() with a smaller size.
  void* reuse(std::size_t bytes, std::size_t most);

private:
  struct Memory {
    void* data;
    std::size_t bytes;
    int device;
  };

  void allow();
  void free_all();

  std::mutex mutex_;
  std::size_t tokens_ = 0;
  std::vector<Memory> unfreed_;
};

} // namespace troupe::gpu
