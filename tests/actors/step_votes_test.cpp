// Tests how the ranks' results of an asynchronous step are combined, and their votes counted.
#include "actors/roles/detail/step_votes.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;
using troupe::actors::StepVotes;
using troupe::training::StepResults;

TEST_CASE("results of a step are combined once all ranks have sent theirs") {
  StepVotes votes{3};
  CHECK_FALSE(votes.propose(1, 0, {.squared_norm = 2}));
  CHECK_FALSE(votes.propose(0, 0, {.loss_scale = {.found_inf = 1}, .squared_norm = 1}));
  const auto all = votes.propose(2, 0, {.squared_norm = 4});
  REQUIRE(all);
  CHECK(all->squared_norm == 7);
  CHECK(all->loss_scale.found_inf == 1);
  for (const int rank : {0, 1})
    CHECK_FALSE(votes.propose(rank, 1, {}));
  CHECK(votes.propose(2, 1, {})->squared_norm < 0); // not measured
}

TEST_CASE("ranks agree on a step when all have voted for it") {
  StepVotes votes{2};
  votes.vote(4);
  votes.vote(5);
  CHECK_FALSE(votes.agree(4));
  votes.vote(4);
  CHECK(votes.agree(4));
  CHECK_FALSE(votes.agree(5));
  votes.close(4);
  CHECK_FALSE(votes.agree(4));
}
