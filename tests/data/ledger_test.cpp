// Who is dealt what, and how much that keeps workers of unequal speed busy: in a time of its own.
#include "troupe/data/ledger.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <vector>

using namespace troupe::data;

namespace {

/// Each worker asks for the next slice when it has computed the one before; one of speed 1 takes
/// one unit of time for it.
class Workers {
public:
  Workers(std::vector<double> speeds, int slices, std::int64_t staleness)
      : speeds_{std::move(speeds)}, ledger_{slices, 0}, staleness_{staleness} {
    ledger_.grant(staleness + 1);
    for (std::size_t worker = 0; worker < speeds_.size(); ++worker)
      free_.push_back(worker);
  }

  /// What they compute together, as a part of what they could if nobody ever waited.
  double busy(double units) {
    std::int64_t computed = 0;
    deal(0);
    while (!ends_.empty() && ends_.begin()->first <= units) {
      const auto [now, end] = *ends_.begin();
      ends_.erase(ends_.begin());
      ++computed;
      ledger_.come(end.lease);
      while (ledger_.is_complete())
        ledger_.apply();
      ledger_.grant(ledger_.applied() + staleness_ + 1);
      free_.push_back(end.worker);
      deal(now);
    }
    return static_cast<double>(computed) / units / std::reduce(speeds_.begin(), speeds_.end());
  }

private:
  struct End {
    std::size_t worker;
    Lease lease;
  };

  void deal(double now) {
    while (!free_.empty()) {
      const auto lease = ledger_.deal();
      if (!lease)
        return;
      CHECK(lease->step - ledger_.applied() <= staleness_);
      CHECK(dealt_.emplace(lease->step, lease->slice).second);
      ends_.emplace(now + 1 / speeds_[free_.front()], End{free_.front(), *lease});
      free_.erase(free_.begin());
    }
  }

  std::vector<double> speeds_;
  Ledger ledger_;
  std::int64_t staleness_;
  std::vector<std::size_t> free_;
  std::multimap<double, End> ends_;
  std::set<std::pair<std::int64_t, int>> dealt_;
};

} // namespace

TEST_CASE("slices are dealt in order, once, and no further ahead than is granted") {
  Ledger ledger{2, 10};
  CHECK_FALSE(ledger.deal()); // nothing is granted
  ledger.grant(12);
  for (const auto& expected : {Lease{10, 0}, Lease{10, 1}, Lease{11, 0}, Lease{11, 1}})
    CHECK(ledger.deal() == expected);
  CHECK_FALSE(ledger.deal());
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
  ledger.grant(13);
  CHECK(ledger.deal() == Lease{12, 0});
  CHECK(ledger.under_way() == 1);
}

TEST_CASE("a worker of a quarter of the others' speed holds nobody up, with a staleness of 3") {
  const std::vector<double> one_slow = {1, 1, 1, 0.25};
  CHECK(Workers(one_slow, 4, 0).busy(4000) < 0.35); // all at its pace
  CHECK(Workers(one_slow, 4, 3).busy(4000) > 0.99);
  CHECK(Workers(one_slow, 16, 1).busy(4000) > 0.99); // smaller slices are worth as much
}

TEST_CASE("however fast the workers are, each slice is dealt once, within the bound") {
  const int seed = GENERATE(Catch::Generators::range(0, 20));
  std::vector<double> speeds;
  for (int i = 0; i < 2 + seed % 5; ++i)
    speeds.push_back(0.1 + 0.37 * ((seed * 7 + i * 13) % 11));
  Workers workers{speeds, 1 + seed % 7, seed % 4};
  CHECK(workers.busy(200) > 0);
}
