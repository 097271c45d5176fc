// Tests memory of one GPU that another GPU of the process reads and writes.
#include "core/config/config.hpp"
#include "gpu/cuda_device.hpp"
#include "tests/support/loopback.hpp"
#include "training/platforms/platforms.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <vector>

/// Null on a GPU (tests/emulation/runtime/memory.hpp).
extern "C" void troupe_emulated_peers(bool reachable, bool may_open) __attribute__((weak));

using namespace troupe;

namespace {

constexpr std::chrono::seconds time_limit{30};
constexpr const char* disable_direct = "NCCL_P2P_DIRECT_DISABLE";

Config two_gpus() {
  Config config;
  config.devices.kind = DeviceKind::cuda;
  config.devices.count = 2;
  return config;
}

std::unique_ptr<training::PlatformDevices> make_node() {
  const auto config = two_gpus();
  return training::platform_of(config.devices).make_devices(config, {});
}

/// Two ranks that sum their numbers, which count from 1.
class TwoRanks {
public:
  void add(std::shared_ptr<Device> device, collectives::Communicator& communicator) {
    const std::vector<float> own(elements, static_cast<float>(values_.size() + 1));
    streams_.push_back(device->create_stream({.name = "test"}));
    values_.push_back(device->allocate(elements * sizeof(float), MemoryKind::data).value());
    devices_.push_back(std::move(device));
    auto& stream = *streams_.back();
    auto* const sum = values_.back()->data();
    devices_.back()->copy(stream, sum, own.data(), elements * sizeof(float));
    communicator.all_reduce(stream, {sum, elements, DType::f32});
  }

  void check() {
    for (std::size_t rank = 0; rank < values_.size(); ++rank) {
      std::vector<float> sum(elements);
      devices_[rank]->copy(*streams_[rank], sum.data(), values_[rank]->data(),
                           elements * sizeof(float));
      const auto done = streams_[rank]->synchronize();
      INFO((done ? "" : done.error().to_string()));
      REQUIRE(done);
      CHECK(sum == std::vector<float>(elements, 3));
    }
  }

private:
  static constexpr std::size_t elements = 1000;

  std::vector<std::shared_ptr<Device>> devices_;
  std::vector<BufferPtr> values_;
  std::vector<std::unique_ptr<Stream>> streams_;
};

/// One node with both GPUs.
class OneNode {
public:
  OneNode() {
    for (int rank = 0; rank < 2; ++rank) {
      devices_.push_back(node_->add().value());
      members_.push_back({.worker = rank, .rank = rank});
    }
  }

  Result<training::Communicators> connect() {
    return node_->make_group(
        members_,
        {.name = "test", .world_size = 2, .collective = time_limit, .connect = time_limit});
  }

  void check_sums() {
    const auto group = connect();
    INFO((group ? "" : group.error().to_string()));
    REQUIRE(group);
    TwoRanks ranks;
    for (std::size_t rank = 0; rank < 2; ++rank)
      ranks.add(devices_[rank], *(*group)[rank]);
    ranks.check();
  }

private:
  std::unique_ptr<training::PlatformDevices> node_ = make_node();
  std::vector<std::shared_ptr<Device>> devices_;
  std::vector<training::GroupMember> members_;
};

/// Configures how emulated GPUs can access each other, during the object's lifetime.
class Peers {
public:
  Peers(bool reachable, bool may_open) {
    if (gpu::cuda_device_count() < 2)
      SKIP("no 2 CUDA devices");
    if (!troupe_emulated_peers)
      SKIP("no CUDA devices whose peers can be chosen");
    ::unsetenv(disable_direct);
    troupe_emulated_peers(reachable, may_open);
  }
  ~Peers() {
    ::unsetenv(disable_direct);
    if (troupe_emulated_peers)
      troupe_emulated_peers(true, true);
  }
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;
};

} // namespace

// NCCL's kernels access peer memory directly without a check: a missing permission ends the
// process's context, or the call hangs (openxla/xla#14891).
TEST_CASE("ranks of one process enable peer access before NCCL connects them") {
  if (gpu::cuda_device_count() < 2)
    SKIP("no 2 CUDA devices");
  OneNode{}.check_sums();
}

TEST_CASE("two nodes of one process enable peer access before NCCL connects them") {
  if (gpu::cuda_device_count() < 2)
    SKIP("no 2 CUDA devices");
  testing::Loopback network{2};
  std::vector<std::unique_ptr<training::PlatformDevices>> nodes;
  std::vector<std::future<Result<training::Communicators>>> connecting;
  std::vector<std::shared_ptr<Device>> devices;
  for (int rank = 0; rank < 2; ++rank) {
    auto& node = *nodes.emplace_back(make_node());
    for (int worker = 0; worker <= rank; ++worker) // the second node's rank is on the second GPU
      if (auto device = node.add().value(); worker == rank)
        devices.push_back(std::move(device));
    connecting.push_back(std::async(std::launch::async, [&network, &node, rank] {
      const std::vector<training::GroupMember> members{{.worker = rank, .rank = rank}};
      return node.make_group(members, {.name = "test",
                                       .world_size = 2,
                                       .connection_group = network.join_group(rank),
                                       .endpoints = network.endpoints,
                                       .collective = time_limit,
                                       .connect = time_limit});
    }));
  }
  std::vector<training::Communicators> groups;
  for (auto& each : connecting) {
    auto group = each.get();
    INFO((group ? "" : group.error().to_string()));
    REQUIRE(group);
    groups.push_back(std::move(*group));
  }
  TwoRanks ranks;
  for (std::size_t rank = 0; rank < 2; ++rank)
    ranks.add(devices[rank], *groups[rank][0]);
  ranks.check();
}

TEST_CASE("a GPU without peer access to another is refused before NCCL uses it") {
  const Peers peers{true, false};
  const auto group = OneNode{}.connect();
  REQUIRE_FALSE(group);
  CHECK(group.error().code == Errc::unsupported);
  CHECK(group.error().message.find("set NCCL_P2P_DIRECT_DISABLE=1") != std::string::npos);
}

TEST_CASE("with NCCL_P2P_DIRECT_DISABLE=1, GPUs whose peer access fails train together") {
  const Peers peers{true, false};
  ::setenv(disable_direct, "1", 1);
  OneNode{}.check_sums();
}

TEST_CASE("GPUs without peer access train together without a setting") {
  const Peers peers{false, true};
  OneNode{}.check_sums();
}
