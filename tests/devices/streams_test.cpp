// Tests the contract of streams and events on the device that the program was linked with.
#include "tests/devices/test_device.hpp"

#include <catch2/catch_test_macros.hpp>

#include <atomic>
#include <chrono>
#include <thread>

using namespace troupe;
using namespace troupe::testing;

namespace {

struct AnyDevice {
  AnyDevice() : device{make_test_device(why)} {
    if (!device)
      SKIP("no CUDA device: " << why);
  }

  BufferPtr allocate(std::size_t bytes) {
    return device->allocate(bytes, MemoryKind::data).value();
  }

  std::string why;
  std::unique_ptr<Device> device;
};

/// An event of another device, which the test sets.
class ForeignEvent final : public Event {
public:
  bool ready() const override { return ready_; }
  std::chrono::nanoseconds time() const override { return {}; }
  std::atomic<bool> ready_ = false;
};

bool comes_true(const std::atomic<bool>& flag) {
  for (int i = 0; i < 5000 && !flag; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  return flag;
}

} // namespace

TEST_CASE_METHOD(AnyDevice, "memory is zeroed, accounted by kind, and may outlive its device") {
  auto small = device->allocate(1000, MemoryKind::parameters).value();
  auto large = device->allocate(20u << 20, MemoryKind::activations).value();
  const auto before = device->memory();
  REQUIRE(before.current[static_cast<std::size_t>(MemoryKind::parameters)] == 1000);
  large.reset();
  const auto use = device->memory();
  REQUIRE(before.total - use.total == 20u << 20);
  REQUIRE(use.total_peak >= 1000 + (20u << 20));
  REQUIRE(use.peak[static_cast<std::size_t>(MemoryKind::activations)] == 20u << 20);
  std::vector<std::byte> values(1000, std::byte{1});
  {
    const auto stream = device->create_stream({});
    device->copy(*stream, values.data(), small->data(), 1000);
    REQUIRE(stream->synchronize());
  }
  REQUIRE(values == std::vector<std::byte>(1000));
  device.reset();
  REQUIRE(small->bytes() == 1000);
}

TEST_CASE_METHOD(AnyDevice, "pinned memory is host memory: counted by kind, but not in the total") {
  constexpr auto kind = static_cast<std::size_t>(MemoryKind::pinned);
  const auto before = device->memory();
  auto buffer = device->allocate(1000, MemoryKind::pinned).value();
  CHECK(device->memory().current[kind] == before.current[kind] + 1000);
  CHECK(device->memory().total == before.total);
  CHECK(device->info().pinned);
  buffer->floats()[0] = 3; // memory of the host
  const auto there = allocate(sizeof(float)),
             back = device->allocate(4, MemoryKind::pinned).value();
  const auto stream = device->create_stream({});
  device->copy(*stream, there->data(), buffer->data(), sizeof(float));
  device->copy(*stream, back->data(), there->data(), sizeof(float));
  REQUIRE(stream->synchronize());
  CHECK(back->floats()[0] == 3);
  buffer.reset();
  CHECK(device->memory().current[kind] == before.current[kind] + 4);
}

TEST_CASE_METHOD(AnyDevice, "an allocation that no device can serve is an error, not an abort") {
  const auto buffer = device->allocate(SIZE_MAX / 4, MemoryKind::data);
  REQUIRE_FALSE(buffer);
  REQUIRE(buffer.error().code == Errc::out_of_memory);
}

TEST_CASE_METHOD(AnyDevice, "work after a wait for another stream's event runs after that event") {
  const auto first = device->create_stream({"first"}), second = device->create_stream({"second"});
  constexpr std::size_t n = 1 << 20;
  const auto values = allocate(n * sizeof(float)), added = allocate(n * sizeof(float)),
             copy = allocate(n * sizeof(float));
  const std::vector<float> ones(n, 1);
  for (auto* const buffer : {values.get(), added.get()})
    device->copy(*first, buffer->data(), ones.data(), n * sizeof(float));
  for (int i = 0; i < 10; ++i)
    device->add(*first, values->floats(), added->floats(), n);
  const auto done = first->record();
  second->wait(done);
  device->copy(*second, copy->data(), values->data(), n * sizeof(float));
  std::vector<float> found(n);
  device->copy(*second, found.data(), copy->data(), n * sizeof(float));
  REQUIRE(second->synchronize());
  REQUIRE(done->ready());
  REQUIRE(found == std::vector<float>(n, 11));
}

TEST_CASE_METHOD(AnyDevice, "events report times of one clock, in the order of the work") {
  const auto stream = device->create_stream({});
  const auto other = device->create_stream({"other"});
  const auto begin = stream->record();
  const auto buffer = allocate(64u << 20);
  device->zero(*stream, buffer->data(), buffer->bytes());
  const auto middle = stream->record();
  other->wait(middle);
  const auto end = other->record();
  REQUIRE(stream->synchronize());
  REQUIRE(other->synchronize());
  REQUIRE(begin->time() <= middle->time());
  REQUIRE(middle->time() <= end->time());
  const auto apart = std::chrono::steady_clock::now().time_since_epoch() - end->time();
  REQUIRE(std::chrono::abs(apart) <
          std::chrono::seconds{5}); // approximately the host's steady clock
}

TEST_CASE_METHOD(AnyDevice, "callbacks run in order, after the work enqueued before them") {
  const auto stream = device->create_stream({});
  std::vector<int> order;
  for (int i = 0; i < 100; ++i)
    stream->on_complete([&order, i](const Status& status) {
      if (status)
        order.push_back(i);
    });
  REQUIRE(stream->synchronize());
  REQUIRE(order.size() == 100);
  for (int i = 0; i < 100; ++i)
    REQUIRE(order[static_cast<std::size_t>(i)] == i);
}

TEST_CASE_METHOD(AnyDevice,
                 "a stream waits for another device's event without blocking its caller") {
  const auto event = std::make_shared<ForeignEvent>();
  const auto stream = device->create_stream({});
  const auto values = allocate(sizeof(float));
  const float one = 1;
  stream->wait(event);
  device->copy(*stream, values->data(), &one, sizeof one);
  const auto behind = stream->record();
  std::this_thread::sleep_for(std::chrono::milliseconds{20});
  REQUIRE_FALSE(behind->ready());
  event->ready_ = true;
  REQUIRE(stream->synchronize());
  REQUIRE(behind->ready());
}

TEST_CASE_METHOD(AnyDevice, "destroying a stream does not wait for another device's event") {
  std::atomic<bool> called = false;
  {
    const auto stream = device->create_stream({});
    stream->wait(std::make_shared<ForeignEvent>());
    stream->on_complete([&](const Status&) { called = true; });
  }
  REQUIRE(called);
}

TEST_CASE_METHOD(AnyDevice, "a callback may destroy its own stream") {
  std::atomic<bool> destroyed = false;
  auto stream = std::make_shared<std::unique_ptr<Stream>>(device->create_stream({}));
  auto* const raw = stream->get();
  raw->on_complete([stream = std::move(stream), &destroyed](const Status&) {
    stream->reset();
    destroyed = true;
  });
  REQUIRE(comes_true(destroyed));
}
