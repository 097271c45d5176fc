#include "checkpointer.hpp"

#include "traced.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace troupe::actors {

namespace {

bool are_finite(std::span<const float> values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

} // namespace

checkpointer_actor::behavior_type CheckpointerState::make_behavior() {
  std::ignore = setup_.store.remove_temporaries(); // of a process that was killed
  return traced<checkpointer_actor>(
      setup_.row, [this](atom::snapshot, const SnapshotPtr& snapshot) { return take(*snapshot); },
      [this](atom::snapshot, const StatePiecePtr& piece, bool save) { return take(*piece, save); });
}

CheckpointOutcome CheckpointerState::take(const engine::Snapshot& snapshot) {
  begin(snapshot.step, snapshot.loss_scale, true);
  const auto& state = *setup_.state;
  for (const auto& piece : state.saved())
    for (const auto& range : piece.ranges)
      add(range, state.snapshot(range.array) + state.place_of(range));
  return end();
}

CheckpointOutcome CheckpointerState::take(const engine::StatePiece& piece, bool save) {
  if (piece.index == 0)
    begin(piece.step, piece.loss_scale, save);
  const auto& pieces = setup_.state->saved();
  const float* stored = piece.values.data();
  for (const auto& range : pieces[piece.index].ranges) {
    add(range, stored);
    stored += range.elements;
  }
  const auto count = save ? pieces.size() : engine::count_parameter_pieces(pieces);
  return piece.index + 1 < count ? work_->outcome : end();
}

void CheckpointerState::begin(std::int64_t step, const std::optional<LossScaleState>& loss_scale,
                              bool save) {
  work_.emplace(Work{.outcome = {.step = step}});
  if (!save)
    return;
  work_->outcome.path = setup_.store.path_of(step).string();
  auto header = setup_.state->describe(loss_scale);
  header.step = step;
  header.epoch = step / setup_.steps_per_epoch;
  header.metadata.insert(setup_.metadata.begin(), setup_.metadata.end());
  auto writer = setup_.store.begin(header);
  if (writer)
    work_->writer.emplace(std::move(*writer));
  else
    fail(writer.error());
}

void CheckpointerState::add(const engine::SavedRange& range, const float* stored) {
  const auto values = engine::in_canonical_layout(range, stored, canonical_);
  if (range.array == engine::parameters_array)
    work_->digest.update(std::as_bytes(values));
  if (work_->writer)
    write(range, values);
}

void CheckpointerState::write(const engine::SavedRange& range, std::span<const float> values) {
  if (!are_finite(values)) // no run could go on from it
    return fail(
        {Errc::numeric, fmt::format("{} has values that are not finite", range.slot->name)});
  if (const auto written = work_->writer->append(values); !written)
    fail(written.error());
}

void CheckpointerState::fail(Error error) {
  work_->writer.reset();
  work_->outcome.failure = std::move(error);
}

CheckpointOutcome CheckpointerState::end() {
  auto& outcome = work_->outcome;
  outcome.parameters_sha256 = work_->digest.hex_digest();
  if (work_->writer) {
    if (const auto saved = setup_.store.finish(*work_->writer, outcome.step); !saved)
      fail(saved.error());
    else if (const auto pruned = setup_.store.prune(setup_.keep); !pruned)
      fail(pruned.error());
  }
  outcome.seconds = std::chrono::duration<double>(Clock::now() - work_->begin).count();
  auto ended = std::move(outcome);
  work_.reset();
  return ended;
}

} // namespace troupe::actors
