/// Finds the start and end of the last whole step.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace troupe::metrics {

class StepCut {
public:
  using Moment = std::chrono::nanoseconds; ///< on the steady clock

  struct Piece {
    std::int64_t step;
    Moment begin, end;
  };

  /// Training begins at this moment. A step that began earlier is skipped: part of it is unknown or
  /// was not training.
  void begin(Moment moment) { last_ = moment; }
  /// Training pauses, or no client follows.
  void stop() { last_.reset(); }
  void commit(std::int64_t step, Moment moment) {
    if (last_)
      piece_ = Piece{step, *last_, moment};
    last_ = moment;
  }
  /// The last step committed since the previous call; empty: none.
  std::optional<Piece> take() { return std::exchange(piece_, std::nullopt); }

private:
  std::optional<Moment> last_; ///< start of the current step
  std::optional<Piece> piece_;
};

} // namespace troupe::metrics
