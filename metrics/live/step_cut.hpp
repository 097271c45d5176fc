/// Between which moments the last whole step lies.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace troupe::metrics {

class StepCut {
public:
  using Moment = std::chrono::nanoseconds; ///< of the steady clock

  struct Piece {
    std::int64_t step;
    Moment begin, end;
  };

  /// Steps are made from this moment on: of one that began before, a part is not known, or is no
  /// training.
  void begin(Moment moment) { last_ = moment; }
  /// No steps are made, or nobody sees them.
  void stop() { last_.reset(); }
  void commit(std::int64_t step, Moment moment) {
    if (last_)
      piece_ = Piece{step, *last_, moment};
    last_ = moment;
  }
  /// The last step that was committed since this was asked; empty: none was.
  std::optional<Piece> take() { return std::exchange(piece_, std::nullopt); }

private:
  std::optional<Moment> last_; ///< where the step that is under way began
  std::optional<Piece> piece_;
};

} // namespace troupe::metrics
