// When slices are dealt anew, and to whom.
#include "actors/roles/detail/dealer.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace std::chrono_literals;
using troupe::actors::Dealer;
using troupe::data::Dealing;

namespace {

using Counts = std::vector<int>;

/// So many steps, in which a slice took each rank so long.
void add_steps(Dealer& dealer, int steps, const std::vector<std::chrono::milliseconds>& slice) {
  for (int step = 0; step < steps; ++step)
    for (std::size_t i = 0; i < slice.size(); ++i) {
      const auto rank = static_cast<std::int32_t>(i);
      dealer.add(rank, dealer.dealing().slices_of(rank) * slice[i]);
    }
}

} // namespace

TEST_CASE("slices are dealt by speed after eight steps, and then every 64") {
  Dealer dealer{{.dealing = Dealing{12, 3}, .by_speed = true}, 100};
  CHECK(dealer.dealing().counts() == Counts{4, 4, 4});
  CHECK_FALSE(dealer.deal(100));
  CHECK(dealer.next_look(100) == 108);
  add_steps(dealer, 8, {10ms, 25ms, 10ms});
  CHECK(dealer.deal(108) == Counts{5, 2, 5});
  CHECK(dealer.next_look(108) == 172);
  // The slow one has become as fast as the others.
  add_steps(dealer, 64, {10ms, 10ms, 10ms});
  CHECK(dealer.deal(172) == Counts{4, 4, 4});
}

TEST_CASE("passes of a new dealing are none of the one before it") {
  Dealer dealer{{.dealing = Dealing{4, 2}, .by_speed = true}, 0};
  const auto before = dealer.dealing();
  add_steps(dealer, 8, {10ms, 90ms});
  REQUIRE(dealer.deal(8));
  CHECK(dealer.dealing().pass_of(8) > before.pass_of(1000));
  CHECK(dealer.dealing().step_of(dealer.dealing().pass_of(8)) == 8);
}

TEST_CASE("a gain of less than one part in twenty is not worth a pause") {
  Dealer dealer{{.dealing = Dealing{100, 2}, .by_speed = true}, 0};
  add_steps(dealer, 8, {100ms, 104ms});
  CHECK_FALSE(dealer.deal(8));
  add_steps(dealer, 64, {100ms, 130ms});
  CHECK(dealer.deal(72));
}

TEST_CASE("a rank that is so slow that it gets no slice is tried again") {
  Dealer dealer{{.dealing = Dealing{4, 2}, .by_speed = true}, 0};
  add_steps(dealer, 8, {10ms, 900ms});
  CHECK(dealer.deal(8) == Counts{4, 0});
  CHECK(dealer.next_look(8) == 72);
  add_steps(dealer, 64, {10ms, 900ms});
  CHECK(dealer.deal(72) == Counts{3, 1});
  CHECK(dealer.next_look(72) == 80);
  add_steps(dealer, 8, {10ms, 900ms}); // it still is
  CHECK(dealer.deal(80) == Counts{4, 0});
  CHECK(dealer.next_look(80) == 144);
  add_steps(dealer, 64, {10ms, 900ms});
  CHECK(dealer.deal(144) == Counts{3, 1});
  add_steps(dealer, 8, {10ms, 10ms}); // now it is not
  CHECK(dealer.deal(152) == Counts{2, 2});
}

TEST_CASE("where each rank must have a slice, the slowest has one") {
  Dealer dealer{{.dealing = Dealing{4, 2}, .by_speed = true, .least = 1}, 0};
  add_steps(dealer, 8, {10ms, 900ms});
  CHECK(dealer.deal(8) == Counts{3, 1});
}

TEST_CASE("a dealing that was recorded is repeated, and one of other ranks is not") {
  const std::map<std::int64_t, Counts> recorded = {{0, {2, 2}}, {5, {3, 1}}, {9, {4}}};
  Dealer dealer{{.dealing = Dealing{4, 2}, .recorded = recorded}, 3};
  CHECK_FALSE(dealer.deal(3));
  CHECK(dealer.next_look(3) == 5);
  CHECK(dealer.deal(5) == Counts{3, 1});
  CHECK(dealer.next_look(5) == 9);
  CHECK_FALSE(dealer.deal(9));
  CHECK_FALSE(dealer.next_look(9));
}
