#include "tests/emulation/runtime/block.hpp"

#include "tests/emulation/runtime/device_code.hpp"
#include "tests/emulation/runtime/error.hpp"
#include "tests/emulation/runtime/loading.hpp"
#include "tests/emulation/runtime/memory.hpp"
#include "tests/emulation/runtime/recording.hpp"
#include "tests/emulation/runtime/settings.hpp"
#include "tests/emulation/runtime/stream.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <vector>

#include <sys/mman.h>

namespace emulation {

thread_local Place place;

namespace {

constexpr std::size_t most_threads = 1024, stack_bytes = std::size_t{64} << 10, warp = 32;
constexpr std::size_t largest_exchanged = 16;

/// Saves the current stack in `from` and continues on stack `to`. Makes no system call: a kernel
/// switches a few million times.
[[gnu::naked]] void switch_stack(void**, void*) {
  asm("push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
      "mov %rsp, (%rdi)\n mov %rsi, %rsp\n"
      "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n ret");
}

/// Prepares a stack whose first switch enters the function, which must not return.
void* prepared_stack(std::byte* memory, void (*enter)()) {
  constexpr std::size_t saved = 6; // registers that switch_stack() pops
  auto* const top = reinterpret_cast<void**>(memory + stack_bytes);
  top[-2] = reinterpret_cast<void*>(enter);
  std::fill_n(top - 2 - saved, saved, nullptr);
  return top - 2 - saved;
}

enum class State { ready, at_block_barrier, at_warp_barrier, done };

/// A thread of the block; its stack is reused by threads of later blocks.
struct Fiber {
  void* here = nullptr; ///< its stack pointer; null: it has no stack yet
  State state = State::done;
  unsigned shuffles = 0;
  uint3 thread;
};

/// Values of the last two shuffles: a lane may be one shuffle ahead of others, not two.
struct Exchange {
  std::array<std::array<std::byte, largest_exchanged>, warp> values[2];
  std::array<std::size_t, warp> bytes[2];
};

/// The fibers of one host thread, which runs one block at a time.
class Fibers {
public:
  void run(dim3 size, const std::function<void()>& thread, bool backwards);
  /// Called by a fiber: runs other fibers until its state is ready again.
  void wait(State until);
  Fiber& current() { return fibers_[current_]; }
  Exchange& exchange() { return exchanges_[current_ / warp]; }
  std::vector<void*>& shared() { return shared_; }
  std::size_t lane() const { return current_ % warp; }

private:
  static void enter();
  void make(std::size_t count);
  void resume(std::size_t index);
  bool release(State barrier, std::size_t begin, std::size_t end);
  bool release_all(std::size_t count);

  std::vector<Fiber> fibers_;
  std::vector<Exchange> exchanges_ = std::vector<Exchange>(most_threads / warp);
  std::vector<void*> shared_; ///< variables that this block has used
  void* scheduler_ = nullptr;
  std::size_t current_ = 0;
  const std::function<void()>* thread_ = nullptr;
};

Fibers& fibers() {
  thread_local Fibers own;
  return own;
}

/// Runs one thread of a block after the other on the same stack.
void Fibers::enter() {
  auto& self = fibers();
  for (;;) {
    (*self.thread_)();
    self.wait(State::done);
  }
}

void Fibers::make(std::size_t count) {
  fibers_.resize(std::max(fibers_.size(), count));
  for (std::size_t i = 0; i < count; ++i)
    if (!fibers_[i].here)
      fibers_[i].here =
          prepared_stack(static_cast<std::byte*>(mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE,
                                                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
                         &Fibers::enter);
}

void Fibers::wait(State until) {
  auto& self = current();
  self.state = until;
  switch_stack(&self.here, scheduler_);
}

void Fibers::resume(std::size_t index) {
  current_ = index;
  place.thread = fibers_[index].thread;
  switch_stack(&scheduler_, fibers_[index].here);
}

/// Releases these threads if all of them have reached the barrier. Returns whether they had.
bool Fibers::release(State barrier, std::size_t begin, std::size_t end) {
  const auto first = fibers_.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto last = fibers_.begin() + static_cast<std::ptrdiff_t>(end);
  if (!std::all_of(first, last, [&](const Fiber& fiber) { return fiber.state == barrier; }))
    return false;
  std::for_each(first, last, [](Fiber& fiber) { fiber.state = State::ready; });
  return true;
}

bool Fibers::release_all(std::size_t count) {
  if (release(State::at_block_barrier, 0, count))
    return true;
  bool any = false;
  for (std::size_t begin = 0; begin + warp <= count; begin += warp)
    any = release(State::at_warp_barrier, begin, begin + warp) || any;
  return any;
}

void Fibers::run(dim3 size, const std::function<void()>& thread, bool backwards) {
  const std::size_t count = std::size_t{size.x} * size.y * size.z;
  make(count);
  thread_ = &thread;
  shared_.clear();
  for (std::size_t i = 0; i < count; ++i) {
    auto& fiber = fibers_[i];
    const auto index = static_cast<unsigned>(i);
    fiber.thread = {index % size.x, index / size.x % size.y, index / (size.x * size.y)};
    fiber.state = State::ready;
    fiber.shuffles = 0;
  }
  do
    for (std::size_t i = 0; i < count; ++i)
      if (const auto next = backwards ? count - 1 - i : i; fibers_[next].state == State::ready)
        resume(next);
  while (release_all(count));
  if (!std::all_of(fibers_.begin(), fibers_.begin() + static_cast<std::ptrdiff_t>(count),
                   [](const Fiber& fiber) { return fiber.state == State::done; })) {
    fail_forever(cudaErrorLaunchFailure, "not all threads of a block came to its barrier");
    fibers_.clear(); // leaks their stacks, which cannot be unwound
  }
}

} // namespace

void run_grid(dim3 grid, dim3 block, const std::function<void()>& thread) {
  std::vector<unsigned> order(grid.x * grid.y * grid.z);
  std::iota(order.begin(), order.end(), 0u);
  for (auto left = static_cast<unsigned>(order.size()); settings().seed && left > 1; --left)
    std::swap(order[left - 1], order[chance(left)]);
  place.block_size = block;
  place.grid_size = grid;
  for (const auto index : order) {
    place.block = {index % grid.x, index / grid.x % grid.y, index / (grid.x * grid.y)};
    fibers().run(block, thread, index % 2 == 1);
  }
}

void block_barrier() {
  fibers().wait(State::at_block_barrier);
}

void exchange_in_warp(void* value, std::size_t bytes, unsigned lanes) {
  auto& own = fibers();
  const auto turn = own.current().shuffles++ % 2;
  auto& exchange = own.exchange();
  std::memcpy(exchange.values[turn][own.lane()].data(), value, bytes);
  exchange.bytes[turn][own.lane()] = bytes;
  own.wait(State::at_warp_barrier);
  const auto other = own.lane() ^ lanes;
  if (exchange.bytes[turn][other] != bytes)
    fail_forever(cudaErrorLaunchFailure, "lanes of a warp exchange values of different sizes");
  std::memcpy(value, exchange.values[turn][other].data(), bytes);
}

void fresh_shared(void* variable, std::size_t bytes) {
  auto& used = fibers().shared();
  if (std::find(used.begin(), used.end(), variable) != used.end())
    return;
  used.push_back(variable);
  std::memset(variable, 0xff, bytes);
}

void Launch::enqueue(const char* launcher, const void* kernel, std::function<void()> thread) const {
  const auto threads = std::size_t{block.x} * block.y * block.z;
  const auto blocks = std::size_t{grid.x} * grid.y * grid.z;
  if (threads == 0 || threads > most_threads || block.z > 64 || blocks == 0 ||
      grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535 || shared > 48 << 10) {
    remember(cudaErrorInvalidConfiguration);
    return;
  }
  const auto* const of = stream_of(stream);
  if (!of || of->device != current_device()) {
    remember(cudaErrorInvalidResourceHandle);
    return;
  }
  load(of->device, kernel, launcher);
  record_launch(launcher, blocks);
  remember(enqueue_operation(stream, [size = *this, thread = std::move(thread)] {
    run_grid(size.grid, size.block, thread);
  }));
}

bool Launch::reachable_address(const void* address) const {
  const auto* const of = stream_of(stream);
  if (!address || !of)
    return true; // the caller that enqueues it detects that the stream does not exist
  if (!Memory::instance().find(address))
    fail_forever(cudaErrorIllegalAddress, "a kernel was given memory that no device reaches");
  else if (!opened_to(address, of->device))
    fail_forever(cudaErrorIllegalAddress,
                 "a kernel was given memory of a pool that is not open to its device");
  else
    return true;
  return false;
}

} // namespace emulation
