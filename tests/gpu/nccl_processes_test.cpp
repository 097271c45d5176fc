// Tests NCCL between two processes: this program, and a second process that it starts.
#include "collectives/nccl/nccl_communicator.hpp"
#include "tests/system/gpus.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fmt/ranges.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <iostream>

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr const char* id_name = "TROUPE_TEST_NCCL_ID";
constexpr const char* other_rank = "the rank of another process";

/// Returns text such as "1 2 255".
std::string text_of(const collectives::NcclId& id) {
  std::vector<int> numbers{id.begin(), id.end()};
  return fmt::format("{}", fmt::join(numbers, " "));
}

collectives::NcclId id_of(const std::string& text) {
  std::istringstream in{text};
  collectives::NcclId id = {};
  for (auto& byte : id) {
    int number = 0;
    in >> number;
    byte = static_cast<char>(number);
  }
  return id;
}

/// One of two ranks, on the first GPU that its process sees.
class Rank {
public:
  static constexpr std::size_t elements = 1000;

  explicit Rank(int rank) : rank_{rank} {}

  collectives::NcclId make_id() { return collectives::make_nccl_id(owner_->library()).value(); }
  void connect(const collectives::NcclId& id) {
    auto connected = collectives::connect_nccl(owner_, {.rank = rank_,
                                                        .world_size = 2,
                                                        .id = id,
                                                        .buffers = {},
                                                        .timeout = std::chrono::seconds{20}});
    INFO((connected ? "" : connected.error().to_string()));
    REQUIRE(connected);
    communicator_ = std::move(*connected);
    fill(static_cast<float>(rank_ + 1));
  }
  /// Returns when the call has been made.
  void begin_all_reduce() {
    communicator_->all_reduce(*stream_, {memory_->data(), elements, DType::f32});
    REQUIRE(owner_->run([] { return Status{}; }, "the call", time_limit));
  }
  Status finish() { return stream_->synchronize(); }
  float last() {
    std::array<float, elements> values = {};
    device_->copy(*stream_, values.data(), memory_->data(), sizeof values);
    REQUIRE(stream_->synchronize());
    return values.back();
  }

private:
  void fill(float value) {
    std::array<float, elements> values;
    values.fill(value);
    device_->copy(*stream_, memory_->data(), values.data(), sizeof values);
    REQUIRE(stream_->synchronize());
  }

  int rank_;
  std::shared_ptr<gpu::CudaDevice> device_ = gpu::make_cuda_device(0).value();
  std::shared_ptr<collectives::NcclOwner> owner_ = collectives::NcclOwner::create(device_).value();
  BufferPtr memory_ = device_->allocate(elements * sizeof(float), MemoryKind::workspace).value();
  std::unique_ptr<collectives::Communicator> communicator_;
  std::unique_ptr<Stream> stream_ = device_->create_stream({.name = "test"});
};

} // namespace

TEST_CASE("the rank of another process", "[.]") {
  Rank rank{1};
  rank.connect(id_of(std::getenv(id_name)));
  rank.begin_all_reduce();
  REQUIRE(rank.finish());
  std::cout << "reduced to " << rank.last() << std::endl;
  std::this_thread::sleep_for(time_limit); // until it is killed
}

TEST_CASE("a rank hears from NCCL when another rank's process ends during a call") {
  need_machine(2);
  Rank rank{0};
  const auto id = rank.make_id();
  RunningProgram other{seeing({1}) +
                       std::vector<std::string>{std::string{id_name} + '=' + text_of(id),
                                                std::filesystem::read_symlink("/proc/self/exe"),
                                                other_rank}};
  rank.connect(id);
  rank.begin_all_reduce();
  REQUIRE(rank.finish());
  CHECK(rank.last() == 3);
  REQUIRE(other.prints("reduced to 3\n"));
  rank.begin_all_reduce();
  other.kill();
  const auto failed = rank.finish();
  REQUIRE_FALSE(failed);
  INFO(failed.error().to_string());
  CHECK(failed.error().code == Errc::collective);
  CHECK(failed.error().where.rank == 0);
  CHECK(has(failed.error().message, "all_reduce #1: "));
  // GPUs that share memory do not detect the loss: there the timeout ends the call.
  if (emulated())
    CHECK(has(failed.error().message, "remote process exited"));
}
