// Which slices of which steps are dealt, have come and are applied.
#include "data/ledger.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe::data;

TEST_CASE("slices of a step are dealt in order, and steps are applied in order") {
  Ledger ledger{2, 10};
  ledger.grant(12);
  CHECK(ledger.limit() == 12);
  CHECK(ledger.deal(11) == Lease{11, 0});
  CHECK(ledger.left(10) == 2);
  CHECK(ledger.left(11) == 1);
  for (const auto& expected : {Lease{10, 0}, Lease{10, 1}, Lease{11, 1}})
    CHECK(ledger.deal(expected.step) == expected);
  CHECK(ledger.left(10) == 0);
  CHECK(ledger.left(11) == 0);
  CHECK_FALSE(ledger.come({10, 1}));
  CHECK_FALSE(ledger.come({11, 1}));
  CHECK(ledger.come({11, 0})); // the later step is complete, and waits
  CHECK_FALSE(ledger.is_complete());
  CHECK(ledger.come({10, 0}));
  CHECK(ledger.is_complete());
  ledger.apply();
  CHECK(ledger.applied() == 11);
  CHECK(ledger.is_complete());
  ledger.apply();
  CHECK_FALSE(ledger.is_complete());
  CHECK(ledger.left(12) == 2);
}
