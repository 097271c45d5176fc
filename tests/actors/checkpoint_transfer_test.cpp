// Tests how nodes receive the leader's checkpoint.
#include "actors/node/checkpoint_transfer.hpp"
#include "tests/support/loopback.hpp"

#include <catch2/catch_test_macros.hpp>

#include <atomic>
#include <future>
#include <numeric>

using namespace troupe;
using namespace troupe::actors;
using namespace std::chrono_literals;

namespace {

/// Returns 2.5 MiB of values: many chunks.
std::shared_ptr<Checkpoint> some_checkpoint(std::vector<float>& values) {
  values.resize((std::size_t{5} << 19) / sizeof(float));
  std::iota(values.begin(), values.end(), 0.5f);
  auto checkpoint = std::make_shared<Checkpoint>();
  checkpoint->step = 7;
  checkpoint->epoch = 2;
  checkpoint->metadata = {{"loss_scale", "1024"}};
  const std::span all{values};
  checkpoint->tensors = {{"bias", Shape{3}, all.first(3)},
                         {"empty", Shape{0, 4}, {}},
                         {"weight", Shape{std::ssize(values) - 3}, all.subspan(3)}};
  return checkpoint;
}

/// A checkpoint that node 0 sends to nodes 1 and 2.
struct Transfer {
  Transfer() {
    for (const auto& endpoint : loopback.endpoints)
      assignment.generation.nodes.push_back(
          {.data = to_string(endpoint), .lacks_state = !assignment.generation.nodes.empty()});
  }
  Status send() {
    return send_checkpoint(*loopback.join_group(0), assignment.generation, chunks, timeouts,
                           [this] { ++arrived; });
  }
  Result<Checkpoint> fetch(std::int32_t node) {
    auto mine = assignment;
    mine.node = node;
    return fetch_checkpoint(*loopback.join_group(node), mine, timeouts, [](const std::string&) {});
  }

  std::vector<float> values;
  std::shared_ptr<Checkpoint> sent = some_checkpoint(values);
  CheckpointChunks chunks{sent};
  testing::Loopback loopback{3};
  training::NodeAssignment assignment;
  TimeoutsConfig timeouts{.collective = 20s, .quorum = 30s};
  std::atomic<int> arrived = 0;
};

} // namespace

TEST_CASE(
    "nodes receive an identical copy of the leader's checkpoint and continue when all have it") {
  Transfer transfer;
  auto sending = std::async(std::launch::async, [&] { return transfer.send(); });
  auto first = std::async(std::launch::async, [&] { return transfer.fetch(1); });
  CHECK(first.wait_for(200ms) == std::future_status::timeout); // node 2 does not have it yet
  const auto second = transfer.fetch(2);
  CHECK(sending.get());
  CHECK(transfer.arrived == 2);
  for (const auto& got : {first.get(), second}) {
    INFO((got ? "" : got.error().to_string()));
    REQUIRE(got);
    CHECK(got->step == 7);
    CHECK(got->epoch == 2);
    CHECK(got->metadata == transfer.sent->metadata);
    REQUIRE(got->tensors.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(got->tensors[i].name == transfer.sent->tensors[i].name);
      CHECK(got->tensors[i].shape == transfer.sent->tensors[i].shape);
      CHECK(std::ranges::equal(got->tensors[i].values, transfer.sent->tensors[i].values));
    }
  }
}

TEST_CASE("nodes that wait for a checkpoint get the reason when the transfer fails") {
  Transfer transfer;
  auto fetching = std::async(std::launch::async, [&] { return transfer.fetch(1); });
  transfer.loopback.planes[1]->cancel(1, {Errc::network, "node c:1 was lost"});
  transfer.loopback.join_group(1)->cancel({Errc::network, "node c:1 was lost"});
  const auto got = fetching.get();
  REQUIRE_FALSE(got);
  CHECK(got.error().message == "node c:1 was lost");
}

TEST_CASE("a process without the secret neither receives nor sends a checkpoint") {
  Transfer transfer;
  transfer.timeouts = {.collective = 300ms, .quorum = 300ms};
  SECTION("it requests one") {
    for (const int node : {1, 2})
      std::ignore = transfer.loopback.join_group(node, 1, "a guess");
  }
  SECTION("it offers one") {
    std::ignore = transfer.loopback.join_group(0, 1, "a guess");
  }
  auto sending = std::async(std::launch::async, [&] { return transfer.send(); });
  auto first = std::async(std::launch::async, [&] { return transfer.fetch(1); });
  CHECK_FALSE(transfer.fetch(2));
  CHECK_FALSE(first.get());
  CHECK_FALSE(sending.get());
  CHECK(transfer.arrived == 0);
}

TEST_CASE("an incomplete checkpoint transfer is detected") {
  std::vector<float> values;
  const CheckpointChunks chunks{some_checkpoint(values)};
  const std::shared_ptr<std::byte[]> row{new std::byte[static_cast<std::size_t>(chunks.bytes())]};
  auto* end = row.get();
  for (const auto& part : chunks.parts())
    end = std::ranges::copy(part, end).out;
  CHECK(join_chunks(row, chunks.bytes()));
  CHECK(join_chunks(row, chunks.bytes() - 4).error().code == Errc::corrupt);
  CHECK(join_chunks(row, 4).error().code == Errc::corrupt);
}
