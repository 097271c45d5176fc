#include "training/state/model_state.hpp"

#include "collectives/step_policy.hpp"
#include "core/fail.hpp"

#include <algorithm>

namespace troupe::training {

std::vector<std::string_view> optimizer_slot_names(const OptimizerArguments& optimizer) {
  if (optimizer.kind != OptimizerKind::sgd)
    return {"exp_avg", "exp_avg_sq"};
  if (optimizer.state_slots() == 0)
    return {};
  return {"momentum"};
}

namespace {

/// Slot name in checkpoints, in addition to optimizer_slot_names.
constexpr std::string_view outer_slot = "outer_momentum";

std::vector<std::string> all_slots(const ModelState::Options& options) {
  std::vector<std::string> slots{options.optimizer_slots.begin(), options.optimizer_slots.end()};
  if (options.outer_momentum)
    slots.emplace_back(outer_slot);
  return slots;
}

} // namespace

ModelState::ModelState(Device& device, const StorageLayout& layout, const Options& options)
    : device_{device}, layout_{layout}, strategy_{options.strategy},
      shard_{static_cast<std::size_t>(strategy_.shard_of(options.rank))},
      plan_{collectives::plan_flat(
          options.buckets.empty() ? collectives::wrap_by_size(layout.unit_elements, SIZE_MAX)
                                  : options.buckets,
          layout.unit_elements, static_cast<std::size_t>(strategy_.shards))},
      optimizer_slots_{all_slots(options)}, inner_slots_{options.optimizer_slots.size()},
      loss_scale_options_{options.loss_scale}, stored_{options.stored},
      saves_shard_{options.saves_shard}, part_{saves_shard_ ? SavedShard::of_rank(plan_, strategy_,
                                                                                  options.rank)
                                                            : SavedShard::whole(plan_)},
      saved_{plan_saved(layout_, plan_, optimizer_slots_.size())},
      rates_{layout_, plan_, options.rates}, gaps_{flat_gaps(layout_, plan_)} {
  if (saves_shard_)
    saved_shard_ =
        plan_saved_shard(layout_, plan_, optimizer_slots_.size(), part_, options.rank == 0);
}

Result<std::shared_ptr<ModelState>> ModelState::create(Device& device, const StorageLayout& layout,
                                                       const Options& options) {
  std::shared_ptr<ModelState> state{new ModelState{device, layout, options}};
  TROUPE_TRY(state->allocate(options));
  state->place_units();
  return state;
}

Status ModelState::allocate(const Options& options) {
  const auto take = [this](BufferPtr& buffer, std::size_t elements, MemoryKind kind) -> Status {
    // A model without statistics still gets an address.
    TROUPE_TRY(buffer, device_.allocate(std::max<std::size_t>(elements, 1) * sizeof(float), kind));
    return {};
  };
  const auto part = [this](bool divided) {
    return divided ? plan_.shard_elements() : plan_.elements;
  };
  const auto window = [this](std::size_t alive) {
    return collectives::plan_window(plan_.buckets, alive).elements;
  };
  const auto optimized = part(strategy_.divides_optimizer);
  kept_ = strategy_.kept(optimized);
  const auto parameters =
      strategy_.offloads_parameters ? kept_ : part(strategy_.divides_parameters);
  if (parameters > 0)
    TROUPE_TRY(take(parameters_, parameters, MemoryKind::parameters));
  TROUPE_TRY(take(gradients_, part(strategy_.divides_gradients), MemoryKind::gradients));
  if (strategy_.divides_parameters)
    TROUPE_TRY(take(gathered_, window(strategy_.parameters_alive(plan_.buckets.size())),
                    MemoryKind::communication));
  if (strategy_.divides_gradients)
    TROUPE_TRY(take(fresh_, window(strategy_.gradients_alive(plan_.buckets.size())),
                    MemoryKind::communication));
  if (strategy_.gathered != DType::f32 || strategy_.reduced != DType::f32) {
    std::size_t largest = 0;
    for (const auto& bucket : plan_.buckets)
      largest = std::max(largest, bucket.elements);
    TROUPE_TRY(take(wire_, (largest + 1) / 2, MemoryKind::communication)); // two bytes each
  }
  TROUPE_TRY(take(statistics_, layout_.statistic_elements, MemoryKind::parameters));
  if (options.keeps_statistics)
    TROUPE_TRY(take(kept_statistics_, layout_.statistic_elements, MemoryKind::parameters));
  if (options.commits_statistics && layout_.statistic_elements > 0)
    TROUPE_TRY(
        take(committed_statistics_,
             static_cast<std::size_t>(committed_turns(strategy_)) * layout_.statistic_elements,
             MemoryKind::parameters));
  TROUPE_TRY(take(scratch_, scratch_elements, MemoryKind::workspace));
  if (options.accumulate)
    TROUPE_TRY(take(accumulated_, part(sums_shards()), MemoryKind::gradients));
  if (options.snapshots)
    TROUPE_TRY(take(
        snapshot_,
        snapshot_elements(part_.elements(), layout_.statistic_elements, optimizer_slots_.size()),
        MemoryKind::pinned));
  if (loss_scale_options_)
    TROUPE_TRY(take(scaler_, sizeof(LossScaleState) / sizeof(float), MemoryKind::optimizer));
  if (loss_scale_options_ && strategy_.is_asynchronous())
    TROUPE_TRY(take(read_scale_, 1, MemoryKind::workspace));
  if (strategy_.root_only && options.rank != 0)
    return {};
  optimizer_.resize(optimizer_slots_.size());
  for (auto& buffer : optimizer_)
    if (kept_ > 0)
      TROUPE_TRY(take(buffer, kept_, MemoryKind::optimizer));
  if (strategy_.offloads())
    TROUPE_TRY(allocate_host({kept_, optimized}));
  if (options.keeps_base)
    TROUPE_TRY(allocate_base());
  return allocate_for_recovery(options);
}

Status ModelState::allocate_host(const HostShard::Range& range) {
  TROUPE_TRY(auto host, HostShard::allocate(device_, range, optimizer_slots_.size()));
  host_.emplace(std::move(host));
  return {};
}

void ModelState::place_units() {
  const auto place = [this](float* whole, const BufferPtr& window, std::size_t alive) {
    const auto windows = collectives::plan_window(plan_.buckets, alive);
    std::vector<float*> places;
    for (std::size_t unit = 0; unit < plan_.unit_offsets.size(); ++unit) {
      const auto bucket = plan_.bucket_of[unit];
      const auto inside = plan_.unit_offsets[unit] - plan_.buckets[bucket].offset;
      places.push_back(window ? window->floats() + windows.offsets[bucket] + inside
                              : whole + plan_.unit_offsets[unit]);
    }
    return places;
  };
  parameters_of_ = place(strategy_.divides_parameters ? nullptr : parameters_->floats(), gathered_,
                         strategy_.parameters_alive(plan_.buckets.size()));
  gradients_of_ =
      place(gradients_->floats(), fresh_, strategy_.gradients_alive(plan_.buckets.size()));
}

std::vector<FlatGap> ModelState::foreign_gradients(const collectives::Bucket& bucket) const {
  if (!fresh_)
    return {};
  return gaps_within(gaps_, flat_place(bucket), chunk(bucket).elements);
}

void ModelState::keep_statistics(Stream& stream) const {
  copy_statistics(stream, kept_statistics_->floats(), statistics());
}

void ModelState::restore_statistics(Stream& stream) const {
  copy_statistics(stream, statistics(), kept_statistics_->floats());
}

std::int64_t ModelState::committed_turns(const collectives::Strategy& strategy) {
  const auto window = collectives::rules_of(strategy.policy).window(strategy);
  return strategy.is_asynchronous() ? 2 * window : window + 1;
}

float* ModelState::committed_statistics(std::int64_t step) const {
  const auto turns = committed_turns(strategy_);
  return committed_statistics_->floats() +
         static_cast<std::size_t>((step + turns) % turns) * layout_.statistic_elements;
}

void ModelState::commit_statistics(Stream& stream, std::int64_t step) const {
  copy_statistics(stream, committed_statistics(step), statistics());
}

void ModelState::revert_statistics(Stream& stream, std::int64_t step) const {
  copy_statistics(stream, statistics(), committed_statistics(step));
}

void ModelState::vote(Stream& stream) const {
  device_.copy(stream, votes(), votes() + 1, sizeof(float));
}

float* ModelState::accumulated(UnitId unit) const {
  if (!accumulated_ || sums_shards())
    return nullptr;
  return accumulated_->floats() + plan_.unit_offsets[static_cast<std::size_t>(unit)];
}

float* ModelState::accumulated(const collectives::Bucket& bucket) const {
  return accumulated_ && sums_shards() ? accumulated_->floats() + plan_.shard_offset(bucket)
                                       : nullptr;
}

HostShard::Range ModelState::range(const collectives::Bucket& bucket) const {
  const bool divided = strategy_.divides_optimizer;
  const auto first = divided ? plan_.shard_offset(bucket) : bucket.offset;
  return {first, first + (divided ? plan_.shard_elements(bucket) : bucket.elements)};
}

void ModelState::write(const ParameterCopies& copies) {
  if (!strategy_.divides_optimizer && !strategy_.root_only && !strategy_.offloads() &&
      !strategy_.trains_apart())
    copies_ = copies;
}

OptimizerViews ModelState::chunk(const collectives::Bucket& bucket) const {
  const auto [first, end] = range(bucket);
  const auto inside = strategy_.divides_optimizer ? shard_ * (end - first) : 0; // in the bucket
  const auto kept = [&, first = first](const BufferPtr& buffer) {
    return first < kept_ ? buffer->floats() + first : nullptr;
  };
  const auto state = [&](std::size_t slot) {
    return slot < std::min(inner_slots_, optimizer_.size()) ? kept(optimizer_[slot]) : nullptr;
  };
  const auto divided = [&, first = first] {
    return strategy_.offloads_parameters ? kept(parameters_) : parameters_->floats() + first;
  };
  return {.parameters = strategy_.divides_parameters ? divided() : parameters(bucket) + inside,
          .gradients = strategy_.divides_gradients ? gradients_->floats() + first
                                                   : gradients(bucket) + inside,
          .state0 = state(0),
          .state1 = state(1),
          .elements = end - first,
          .copies = copies_.data ? copies_.data + first * size_of(copies_.type) : nullptr,
          .copied = copies_.type};
}

float* ModelState::outer_momentum(const collectives::Bucket& bucket) const {
  return optimizer_.size() > inner_slots_ ? optimizer_.back()->floats() + range(bucket).first
                                          : nullptr;
}

OptimizerViews ModelState::kept_chunk(const collectives::Bucket& bucket) const {
  auto views = chunk(bucket);
  const auto [first, end] = range(bucket);
  views.elements = std::clamp(kept_, first, end) - first;
  return views;
}

HostChunk ModelState::host_chunk(const collectives::Bucket& bucket) const {
  const auto whole = chunk(bucket);
  const auto [first, end] = range(bucket);
  const auto cut = std::clamp(kept_, first, end);
  if (cut == end)
    return {};
  return {.host = host_->views({cut, end}),
          .gradients = whole.gradients + (cut - first),
          .parameters = strategy_.offloads_parameters ? nullptr : whole.parameters + (cut - first)};
}

std::size_t ModelState::flat_place(const collectives::Bucket& bucket) const {
  return bucket.offset + (strategy_.divides_optimizer ? shard_ * plan_.shard_elements(bucket) : 0);
}

std::vector<OptimizerChunk> ModelState::kept_chunks(const collectives::Bucket& bucket) const {
  return rates_.cut(kept_chunk(bucket), flat_place(bucket));
}

std::vector<OptimizerChunk> ModelState::host_chunks(const collectives::Bucket& bucket) const {
  return rates_.cut(host_chunk(bucket).host, flat_place(bucket) + kept_chunk(bucket).elements);
}

std::vector<OptimizerChunk>
ModelState::in_few_views(OptimizerViews (ModelState::*part)(const collectives::Bucket&)
                             const) const {
  std::vector<OptimizerChunk> found;
  // Buckets and the chunks of a bucket are in descending order: two chunks touch if this one ends
  // where the previous one begins. Divided parameters have the layout of their gradients.
  const auto touches = [&](const OptimizerChunk& before, const OptimizerChunk& chunk) {
    return chunk.rate == before.rate && chunk.gradients + chunk.elements == before.gradients &&
           (strategy_.divides_parameters || chunk.parameters + chunk.elements == before.parameters);
  };
  for (const auto& bucket : plan_.buckets)
    for (auto chunk : rates_.cut((this->*part)(bucket), flat_place(bucket))) {
      if (!found.empty() && touches(found.back(), chunk)) {
        chunk.elements += found.back().elements;
        found.pop_back();
      }
      found.push_back(chunk);
    }
  return found;
}

std::size_t ModelState::place_of(const Slot& slot) const {
  return plan_.unit_offsets[static_cast<std::size_t>(slot.unit)] + slot.offset;
}

void bind(Executable& executable, const ModelState& state) {
  const auto units = static_cast<UnitId>(state.layout().unit_elements.size());
  for (UnitId unit = 0; unit < units; ++unit)
    executable.bind(unit, state.parameters(unit), state.gradients(unit));
  executable.bind_statistics(state.statistics());
  if (const auto* const scale = state.read_scale())
    executable.bind_loss_scale(scale);
}

void unbind(Executable& executable) {
  const auto units = static_cast<UnitId>(executable.layout().unit_elements.size());
  for (UnitId unit = 0; unit < units; ++unit)
    executable.bind(unit, nullptr, nullptr);
  executable.bind_statistics(nullptr);
  executable.bind_loss_scale(nullptr);
  executable.bind_sum_over_ranks({});
}

} // namespace troupe::training
