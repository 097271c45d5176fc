/// When slices are dealt anew, and how (data.dealing, data.recorded_dealing).
#pragma once

#include "data/dealing.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace troupe::actors {

struct DealerSetup {
  data::Dealing dealing = {}; ///< that the generation begins with
  bool by_speed = false;      ///< as ranks are measured
  int least = 0;              ///< slices of a rank
  std::map<std::int64_t, std::vector<int>> recorded =
      {};              ///< by the first step; not empty: as there
  double patience = 0; ///< data/slice_dealer.hpp, where slices go to who comes free
};

class Dealer {
public:
  Dealer(DealerSetup setup, std::int64_t first_step)
      : setup_{std::move(setup)}, next_look_{first_step + first_look}, measured_(ranks()),
        seconds_(ranks()) {}

  /// What a rank's step took in forward and backward.
  void add(std::int32_t rank, std::chrono::nanoseconds busy);
  /// No step beyond this one is granted before deal() was asked; none: ask when you like.
  std::optional<std::int64_t> next_look(std::int64_t committed) const;
  /// How slices are dealt from this step on, where that is not as before. None is under way.
  std::optional<std::vector<int>> deal(std::int64_t step);
  /// Whether another dealing may ever follow.
  bool deals_anew() const { return setup_.by_speed || !setup_.recorded.empty(); }
  const data::Dealing& dealing() const { return setup_.dealing; }

private:
  // Enough for a mean; a worker's speed may change while a run goes on.
  static constexpr std::int64_t first_look = 8, look_every = 64;
  /// Of the slowest rank's time: less is not worth the pause.
  static constexpr double least_gain = 0.05;

  std::size_t ranks() const { return static_cast<std::size_t>(setup_.dealing.world_size()); }
  std::optional<std::vector<int>> recorded_at(std::int64_t step) const;
  /// Who had no slice gets one for a few steps, to be measured again.
  std::optional<std::vector<int>> faster();

  DealerSetup setup_;
  std::int64_t next_look_;
  struct Measured {
    std::chrono::nanoseconds busy{};
    std::int64_t slices = 0;
  };
  // By rank.
  std::vector<Measured> measured_; ///< since the last deal
  std::vector<double> seconds_;    ///< of a slice, when it last had one
};

} // namespace troupe::actors
