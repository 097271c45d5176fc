// Who has which slice, and what becomes of a step whose slices are with many.
#include "troupe/actors/roles/detail/lease_book.hpp"

#include <catch2/catch_test_macros.hpp>

#include <limits>

using namespace troupe::actors;
using namespace std::chrono_literals;
using troupe::data::Lease;

namespace {

const LeaseBook::Clock::time_point begin{};

WorkerStep measured(double loss, std::int64_t samples) {
  return {.loss = loss, .samples = samples, .busy = 10ms};
}

} // namespace

TEST_CASE("slices go to those that wait, in the order in which they came, below the limit") {
  LeaseBook book{2, 3, 5};
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
  LeaseBook book{2, 2, 0};
  for (int i = 0; i < 4; ++i)
    book.want(i % 2);
  book.deal(2, begin);
  for (const std::int64_t step : {0, 1}) {
    book.vote(step);
    book.vote(step);
  }
  book.come(0, {1, 0}, measured(1, 4), begin + 3s);
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

TEST_CASE("what ranks have found is put together when all have") {
  LeaseBook book{1, 3, 0};
  CHECK_FALSE(book.found({.rank = 1, .step = 0, .squared_norm = 2}));
  CHECK_FALSE(book.found({.rank = 0, .step = 0, .squared_norm = 1, .found_inf = 1}));
  const auto all = book.found({.rank = 2, .step = 0, .squared_norm = 4});
  REQUIRE(all);
  CHECK((all->step == 0 && all->squared_norm == 7 && all->found_inf == 1));
  for (const int rank : {0, 1})
    CHECK_FALSE(book.found({.rank = rank, .step = 1}));
  CHECK(book.found({.rank = 2, .step = 1})->squared_norm < 0); // not measured
}
