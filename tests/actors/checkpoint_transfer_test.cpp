// How nodes get the checkpoint of the one that leads.
#include "membership_fixture.hpp"

#include "troupe/actors/cluster/detail/checkpoint_pieces.hpp"
#include "troupe/actors/cluster/fetcher.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cstring>
#include <numeric>

using namespace troupe;
using namespace troupe::actors;
using Catch::Matchers::ContainsSubstring;
using test::Cluster;

namespace {

/// 2.5 pieces of values.
std::shared_ptr<Checkpoint> some_checkpoint(std::vector<float>& values) {
  values.resize(static_cast<std::size_t>(checkpoint_piece_bytes) / sizeof(float) * 5 / 2);
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

} // namespace

TEST_CASE("a checkpoint that travels in pieces arrives as it was") {
  std::vector<float> values;
  const auto sent = some_checkpoint(values);
  const CheckpointPieces pieces{sent};
  const std::shared_ptr<std::byte[]> storage{
      new std::byte[static_cast<std::size_t>(pieces.bytes())]};
  int count = 0;
  for (std::int64_t offset = 0; offset < pieces.bytes(); ++count) {
    const auto piece = pieces.piece(offset);
    REQUIRE_FALSE(piece.empty());
    REQUIRE(std::ssize(piece) <= checkpoint_piece_bytes);
    std::memcpy(storage.get() + offset, piece.data(), piece.size());
    offset += std::ssize(piece);
  }
  CHECK(count == 3);
  const auto got = join_pieces(storage, pieces.bytes());
  REQUIRE(got);
  CHECK(got->step == 7);
  CHECK(got->epoch == 2);
  CHECK(got->metadata == sent->metadata);
  REQUIRE(got->tensors.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(got->tensors[i].name == sent->tensors[i].name);
    CHECK(got->tensors[i].shape == sent->tensors[i].shape);
    CHECK(std::ranges::equal(got->tensors[i].values, sent->tensors[i].values));
  }
  // And one that is not whole is found out.
  CHECK(join_pieces(storage, pieces.bytes() - 4).error().code == Errc::corrupt);
  CHECK(join_pieces(storage, 4).error().code == Errc::corrupt);
}

TEST_CASE("nodes fetch the leader's checkpoint, and go on when all have it") {
  std::vector<float> values;
  Cluster cluster{3, some_checkpoint(values)};
  cluster.join("a:1");
  cluster.join("b:1");
  const auto bytes = cluster.join("c:1")->seat->checkpoint_bytes;
  REQUIRE(bytes > 2 * checkpoint_piece_bytes);
  int have_it = 0;
  const auto fetch = [&] {
    const auto fetcher = test::spawn_state<FetcherState, fetcher_actor>(
        cluster.system,
        FetcherSetup{.membership = cluster.membership,
                     .bytes = bytes,
                     .say = [&](const std::string& text) { cluster.said.push_back(text); }});
    cluster.system.spawn([&, fetcher](caf::event_based_actor* daemon) {
      daemon->request(fetcher, caf::infinite, atom::fetch_v)
          .then([&](const CheckpointPtr& checkpoint) {
            ++have_it;
            CHECK(std::ranges::equal(checkpoint->find("weight")->values,
                                     std::span{values}.subspan(3)));
          });
    });
    cluster.scheduler.run();
  };
  fetch();
  fetch();
  CHECK(have_it == 0);
  CHECK_THAT(cluster.said.back(), ContainsSubstring("fetching the leader's checkpoint"));
  // The leader has it already.
  cluster.system.spawn([&](caf::event_based_actor* leader) {
    leader->request(cluster.membership, caf::infinite, atom::fetch_v, bytes)
        .then([&](const std::string&) { ++have_it; });
  });
  cluster.scheduler.run();
  CHECK(have_it == 3);
}
