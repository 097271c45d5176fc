#include "actors/roles/checkpointer.hpp"

#include "actors/roles/traced.hpp"
#include "core/background_work.hpp"
#include "core/fail.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <tuple>

namespace troupe::actors {

namespace {

/// Number of values that are checked, hashed and written at a time: they stay in the processor's
/// cache.
constexpr std::size_t most_appended = std::size_t{1} << 16;

/// Has no early exit, so that it is vectorized.
bool are_finite(std::span<const float> values) {
  constexpr std::uint32_t exponent = 0x7f80'0000;
  bool all = true;
  for (const float value : values)
    all &= (std::bit_cast<std::uint32_t>(value) & exponent) != exponent;
  return all;
}

} // namespace

/// Runs on the actor's own thread, which may block.
CheckpointerState::~CheckpointerState() {
  work_.reset();
  if (unfinished_)
    setup_.store.abandon(*unfinished_);
}

checkpointer_actor::behavior_type CheckpointerState::make_behavior() {
  if (setup_.rank == 0)
    std::ignore = setup_.store.remove_temporaries(); // of a killed process
  return traced<checkpointer_actor>(
      setup_.row, [this](atom::snapshot, const SnapshotPtr& snapshot) { return take(*snapshot); },
      [this](atom::snapshot, const StateChunkPtr& chunk, bool write) {
        return take(*chunk, write);
      },
      [this](atom::finish, const CheckpointShards& parts) { return finish(parts); });
}

/// Training continues meanwhile.
ShardOutcome CheckpointerState::take(training::Snapshot& snapshot) {
  begin(snapshot.step(), /*is_hashed=*/false);
  begin_writing(snapshot.loss_scale);
  BackgroundWork writing;
  for (std::size_t index = 0; index < layout().written().size(); ++index) {
    writing.run([&] { add(layout().written()[index], snapshot.values(index)); });
    snapshot.release(index);
  }
  return end();
}

ShardOutcome CheckpointerState::take(const training::StateChunk& chunk, bool write) {
  if (chunk.index == 0)
    begin(chunk.step, !write || !layout().saves_shard());
  if (chunk.index == 0 && write)
    begin_writing(chunk.loss_scale);
  const auto& plan = write ? layout().written() : layout().whole();
  const auto count = write ? plan.size() : plan.parameter_chunks();
  if (chunk.index < count)
    add(plan[chunk.index], chunk.values.data());
  if (chunk.index + 1 >= count)
    return end();
  return {.rank = setup_.rank, .step = chunk.step, .is_last = false};
}

void CheckpointerState::begin(std::int64_t step, bool is_hashed) {
  work_.emplace(Work{.outcome = {.rank = setup_.rank, .step = step}, .is_hashed = is_hashed});
}

void CheckpointerState::begin_writing(const std::optional<LossScaleState>& loss_scale) {
  const auto step = work_->outcome.step;
  if (setup_.rank == 0)
    unfinished_ = step;
  header_ = layout().describe(loss_scale);
  header_.step = step;
  header_.epoch = setup_.plan.epoch_of(step);
  header_.metadata.insert(setup_.metadata.begin(), setup_.metadata.end());
  auto writer = open_writer();
  if (writer)
    work_->writer.emplace(std::move(*writer));
  else
    fail(writer.error());
}

Result<StateWriter> CheckpointerState::open_writer() const {
  TROUPE_TRY(const auto folder, setup_.store.begin(header_.step));
  return layout().saves_shard()
             ? StateWriter::part(folder, setup_.rank, setup_.world_size, layout().written().parts())
             : StateWriter::full(folder, header_);
}

void CheckpointerState::add(const training::PlannedChunk& chunk, const float* values) {
  training::for_each_range(
      chunk, values,
      [this](const training::StateRange& range, const float* stored) { add(range, stored); });
}

void CheckpointerState::add(const training::StateRange& range, const float* stored) {
  if (layout().saves_shard() && !work_->is_hashed) // in the rank's layout
    return write(range, {stored, range.elements});
  const auto values = training::in_canonical_layout(range, stored, canonical_);
  if (work_->is_hashed && range.array == training::parameters_array)
    work_->digest.update(std::as_bytes(values));
  write(range, values);
}

void CheckpointerState::write(const training::StateRange& range, std::span<const float> values) {
  while (work_->writer && !values.empty()) {
    const auto chunk = values.first(std::min(values.size(), most_appended));
    values = values.subspan(chunk.size());
    if (!are_finite(chunk)) // no run could resume from it
      fail({Errc::numeric, fmt::format("{} has values that are not finite", range.slot->name)});
    else if (const auto written = work_->writer->append(chunk); !written)
      fail(written.error());
  }
}

void CheckpointerState::fail(Error error) {
  work_->writer.reset();
  work_->outcome.failure = std::move(error);
}

ShardOutcome CheckpointerState::end() {
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

metrics::CheckpointRecord CheckpointerState::finish(const CheckpointShards& parts) {
  const auto begin = Clock::now();
  metrics::CheckpointRecord outcome{.step = parts.step,
                                    .path = setup_.store.path_of(parts.step).string()};
  for (const auto& part : parts.parts) {
    outcome.seconds = std::max(outcome.seconds, part.seconds);
    outcome.parameters_sha256 += part.parameters_sha256; // at most one part has it
    for (const auto& file : part.files)
      outcome.bytes += file.bytes;
  }
  if (const auto made = publish(parts); !made) {
    setup_.store.abandon(parts.step);
    outcome.failure = made.error();
  }
  unfinished_.reset();
  outcome.seconds += std::chrono::duration<double>(Clock::now() - begin).count();
  return outcome;
}

Status CheckpointerState::publish(const CheckpointShards& parts) {
  for (const auto& part : parts.parts)
    if (part.failure) // then the files of the other ranks are useless
      return failure(*part.failure);
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
