// Who has which slice, and what becomes of a step whose slices are with many.
#include "actors/roles/detail/lease_book.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <limits>

using namespace troupe::actors;
using namespace std::chrono_literals;
using troupe::data::Lease;
using Clock = LeaseBook::Clock;

namespace {

const Clock::time_point begin{};

WorkerStep measured(double loss, std::int64_t samples) {
  return {.loss = loss, .samples = samples, .busy = 10ms};
}

} // namespace

TEST_CASE("slices go to those that wait, in the order in which they came, below the limit") {
  LeaseBook book{{.slices = 2, .workers = 3, .first_step = 5}};
  CHECK(book.deal(6, begin).empty());
  for (const int rank : {2, 0, 1, 2})
    book.want(rank);
  const auto dealt = book.deal(6, begin);
  REQUIRE(dealt.size() == 2);
  CHECK((dealt[0].rank == 2 && dealt[0].lease == Lease{5, 0}));
  CHECK((dealt[1].rank == 0 && dealt[1].lease == Lease{5, 1}));
  CHECK(book.begun() == 6);
  CHECK(book.deal(6, begin).empty());
  CHECK(book.deal(7, begin).size() == 2);
  CHECK(book.begun() == 7);
}

TEST_CASE("a step is applied once, when all its slices have come and all ranks are for it") {
  LeaseBook book{{.slices = 2, .workers = 2}};
  for (int i = 0; i < 4; ++i)
    book.want(i / 2);
  book.deal(2, begin);
  for (const std::int64_t step : {0, 1}) {
    book.vote(step);
    book.vote(step);
  }
  book.come(1, {1, 0}, measured(1, 4), begin + 3s);
  book.come(1, {1, 1}, measured(2, 4), begin + 1s);
  book.come(0, {0, 0}, measured(3, 4), begin + 2s);
  CHECK_FALSE(book.next_applied()); // a slice of step 0 is still with somebody
  book.come(0, {0, 1}, measured(4, 3), begin + 1s);
  CHECK(book.next_applied() == 0);
  CHECK(book.next_applied() == 1);
  CHECK_FALSE(book.next_applied());
  const auto both = book.measured(0, 0);
  CHECK((both.loss == 7 && both.samples == 7 && both.busy == 20ms && both.step == 0));
  CHECK(book.measured(1, 0).samples == 0);
  CHECK(book.longest_lease(0) == 2);
  CHECK(book.longest_lease(1) == 3);
}

TEST_CASE("who waits for a step that will soon be made is dealt a slice when it is, or when its "
          "patience ends") {
  const auto is_made = GENERATE(true, false);
  LeaseBook book{{.slices = 2, .workers = 2, .patience = 0.5}};
  const auto deal = [&](int rank, Clock::time_point now) {
    book.want(rank);
    return book.deal(3, now);
  };
  for (const int rank : {0, 1})
    REQUIRE(deal(rank, begin).size() == 1);
  book.come(0, {0, 0}, measured(1, 4), begin + 10s);
  CHECK(deal(0, begin + 10s).size() == 1); // nobody knows how long rank 1 takes
  CHECK_FALSE(book.again(begin + 10s));
  book.come(1, {0, 1}, measured(1, 4), begin + 12s);
  CHECK(deal(1, begin + 12s).empty()); // step 0 has all it needs
  CHECK(book.again(begin + 12s) == begin + 18s);
  if (is_made) {
    for (const int vote : {0, 1}) {
      book.vote(0);
      CHECK(book.next_applied().has_value() == (vote == 1));
    }
    CHECK(book.deal(3, begin + 13s).size() == 1);
  } else {
    CHECK(book.deal(3, begin + 17s).empty());
    CHECK(book.deal(3, begin + 18s).size() == 1);
  }
  CHECK_FALSE(book.again(begin + 18s));
}

TEST_CASE("what ranks have found is put together when all have") {
  LeaseBook book{{.slices = 1, .workers = 3}};
  CHECK_FALSE(book.found({.rank = 1, .step = 0, .squared_norm = 2}));
  CHECK_FALSE(book.found({.rank = 0, .step = 0, .squared_norm = 1, .found_inf = 1}));
  const auto all = book.found({.rank = 2, .step = 0, .squared_norm = 4});
  REQUIRE(all);
  CHECK((all->step == 0 && all->squared_norm == 7 && all->found_inf == 1));
  for (const int rank : {0, 1})
    CHECK_FALSE(book.found({.rank = rank, .step = 1}));
  CHECK(book.found({.rank = 2, .step = 1})->squared_norm < 0); // not measured
}

TEST_CASE("a rank has a slice from when it is given until it has computed it") {
  LeaseBook book{{.slices = 2, .workers = 2, .first_step = 3}};
  book.want(1);
  book.deal(4, begin);
  CHECK(book.has(1, {3, 0}));
  for (const auto& lease : {Lease{3, 1}, Lease{4, 0}, Lease{2, 0}, Lease{-1, -1}})
    CHECK_FALSE(book.has(1, lease));
  for (const int rank : {-1, 0, 2, 1'000'000})
    CHECK_FALSE(book.has(rank, {3, 0}));
  book.come(1, {3, 0}, measured(1, 4), begin + 1s);
  CHECK_FALSE(book.has(1, {3, 0}));
}
