#include "checkpointer.hpp"

#include "traced.hpp"

#include "troupe/core/fail.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace troupe::actors {

namespace {

bool are_finite(std::span<const float> values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

/// Where a rank cannot write, what the others have written is worth nothing.
Status check(const std::vector<PartOutcome>& parts) {
  for (const auto& part : parts)
    if (part.failure)
      return failure(*part.failure);
  return {};
}

} // namespace

/// On the actor's own thread, which may block.
CheckpointerState::~CheckpointerState() {
  work_.reset();
  if (unfinished_)
    setup_.store.abandon(*unfinished_);
}

checkpointer_actor::behavior_type CheckpointerState::make_behavior() {
  if (setup_.rank == 0)
    std::ignore = setup_.store.remove_temporaries(); // of a process that was killed
  return traced<checkpointer_actor>(
      setup_.row, [this](atom::snapshot, const SnapshotPtr& snapshot) { return take(*snapshot); },
      [this](atom::snapshot, const StatePiecePtr& piece, bool write) {
        return take(*piece, write);
      },
      [this](atom::finish, const CheckpointParts& parts) { return finish(parts); });
}

PartOutcome CheckpointerState::take(const engine::Snapshot& snapshot) {
  begin(snapshot.step, snapshot.loss_scale, true);
  for (const auto& piece : setup_.state->written())
    for (const auto& range : piece.ranges)
      add(range, setup_.state->in_snapshot(range));
  return end();
}

PartOutcome CheckpointerState::take(const engine::StatePiece& piece, bool write) {
  if (piece.index == 0)
    begin(piece.step, piece.loss_scale, write);
  const auto& state = *setup_.state;
  const auto& pieces = write ? state.written() : state.saved();
  const auto count = write ? pieces.size() : engine::count_parameter_pieces(pieces);
  if (piece.index < count) {
    const float* stored = piece.values.data();
    for (const auto& range : pieces[piece.index].ranges) {
      add(range, stored);
      stored += range.elements;
    }
  }
  if (piece.index + 1 >= count)
    return end();
  return {.rank = setup_.rank, .step = piece.step, .is_last = false};
}

void CheckpointerState::begin(std::int64_t step, const std::optional<LossScaleState>& loss_scale,
                              bool write) {
  work_.emplace(Work{.outcome = {.rank = setup_.rank, .step = step},
                     .is_hashed = !write || !setup_.state->saves_part()});
  if (!write)
    return;
  if (setup_.rank == 0)
    unfinished_ = step;
  header_ = setup_.state->describe(loss_scale);
  header_.step = step;
  header_.epoch = step / setup_.steps_per_epoch;
  header_.metadata.insert(setup_.metadata.begin(), setup_.metadata.end());
  auto writer = open_writer();
  if (writer)
    work_->writer.emplace(std::move(*writer));
  else
    fail(writer.error());
}

Result<StateWriter> CheckpointerState::open_writer() const {
  TROUPE_TRY(const auto folder, setup_.store.begin(header_.step));
  return setup_.state->saves_part() ? StateWriter::part(folder, setup_.rank, setup_.world_size,
                                                        setup_.state->describe_part())
                                    : StateWriter::full(folder, header_);
}

void CheckpointerState::add(const engine::SavedRange& range, const float* stored) {
  if (!work_->is_hashed)
    return write(range, {stored, range.elements});
  const auto values = engine::in_canonical_layout(range, stored, canonical_);
  if (range.array == engine::parameters_array)
    work_->digest.update(std::as_bytes(values));
  write(range, values);
}

void CheckpointerState::write(const engine::SavedRange& range, std::span<const float> values) {
  if (!work_->writer)
    return;
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

PartOutcome CheckpointerState::end() {
  auto& outcome = work_->outcome;
  if (work_->is_hashed)
    outcome.parameters_sha256 = work_->digest.hex_digest();
  if (work_->writer) {
    auto files = work_->writer->commit();
    if (files)
      outcome.files = std::move(*files);
    else
      fail(files.error());
  }
  outcome.seconds = std::chrono::duration<double>(Clock::now() - work_->begin).count();
  auto ended = std::move(outcome);
  work_.reset();
  return ended;
}

CheckpointOutcome CheckpointerState::finish(const CheckpointParts& parts) {
  const auto begin = Clock::now();
  CheckpointOutcome outcome{.step = parts.step, .path = setup_.store.path_of(parts.step).string()};
  for (const auto& part : parts.parts) {
    outcome.seconds = std::max(outcome.seconds, part.seconds);
    outcome.parameters_sha256 += part.parameters_sha256; // one at most has it
  }
  auto made = check(parts.parts);
  if (made)
    made = publish(parts);
  if (!made) {
    setup_.store.abandon(parts.step);
    outcome.failure = made.error();
  }
  unfinished_.reset();
  outcome.seconds += std::chrono::duration<double>(Clock::now() - begin).count();
  return outcome;
}

Status CheckpointerState::publish(const CheckpointParts& parts) {
  Manifest manifest{
      .step = header_.step, .epoch = header_.epoch, .metadata = header_.metadata, .files = {}};
  for (const auto& [key, value] : parts.results)
    manifest.metadata[key] = value;
  for (const auto& part : parts.parts)
    std::ranges::copy(part.files, std::back_inserter(manifest.files));
  TROUPE_TRY(setup_.store.finish(manifest));
  if (parts.is_best)
    TROUPE_TRY(setup_.store.mark_best(parts.step));
  TROUPE_TRY(setup_.store.prune(setup_.keep));
  return {};
}

} // namespace troupe::actors
