#include "data/batch.hpp"

#include "core/config/config.hpp"
#include "core/fail.hpp"

namespace troupe::data {

std::vector<std::span<std::byte>> BatchBuffer::fields() const {
  std::vector<std::span<std::byte>> all;
  all.reserve(memory.size());
  for (const auto& buffer : memory)
    all.emplace_back(buffer->data(), buffer->bytes());
  return all;
}

Result<BatchView> BatchAssembler::tensors(const Slice& slice) const {
  TROUPE_TRY(const auto samples, sampler_.largest_slice(slice));
  BatchView view;
  for (const auto& field : adapter_->fields()) {
    std::vector<std::int64_t> dims{samples};
    dims.insert(dims.end(), field.shape.dims.begin(), field.shape.dims.end());
    view.push_back({field.name, field.dtype, Shape{std::move(dims)}});
  }
  return view;
}

Result<BatchBuffer> BatchAssembler::allocate(Device& device, const Slice& slice) const {
  TROUPE_TRY(auto view, tensors(slice));
  BatchBuffer buffer{.memory = {}, .view = std::move(view)};
  buffer.samples = buffer.view.front().shape[0];
  for (auto& tensor : buffer.view) {
    TROUPE_TRY(auto memory, device.allocate(tensor.bytes(), MemoryKind::data));
    tensor.data = memory->data();
    buffer.memory.push_back(std::move(memory));
  }
  return buffer;
}

Status BatchAssembler::fill(Position at, const Slice& slice, Fields to) const {
  TROUPE_TRY(const auto samples, sampler_.largest_slice(slice));
  const auto count = static_cast<std::size_t>(samples);
  for (std::size_t i = 0; i < adapter_->fields().size(); ++i)
    if (const auto& field = adapter_->fields()[i]; to[i].size() < count * field.bytes())
      return fail(Errc::internal, "room for {} bytes, but {} samples of {} need {}", to[i].size(),
                  count, field.name, count * field.bytes());
  std::vector<std::int64_t> indices(count);
  TROUPE_TRY(sampler_.indices(at, slice, indices));
  return adapter_->fill(indices, at.epoch, to);
}

namespace {

Result<BatchAssembler> assemble(const Config& config, Split split, int world_size) {
  TROUPE_TRY(auto adapter, open_adapter(config, split));
  const auto size = adapter->dataset().size();
  const auto options =
      split == Split::test
          ? evaluation_sampler(size, config.data.eval_batch_size, world_size,
                               config.data.eval_limit)
          : SamplerOptions{.size = size,
                           .global_batch = config.data.batch_size,
                           .seed = config.run.seed,
                           .shuffle = config.data.shuffle,
                           .last_batch =
                               config.data.drop_last ? LastBatch::drop : LastBatch::pad_with_first};
  TROUPE_TRY(const auto sampler, DistributedSampler::create(options));
  return BatchAssembler{std::move(adapter), sampler};
}

} // namespace

Result<BatchAssembler> training_batches(const Config& config) {
  return assemble(config, Split::train, 1);
}

Result<BatchAssembler> evaluation_batches(const Config& config, int world_size) {
  return assemble(config, Split::test, world_size);
}

Result<BatchAssembler> assigned(const BatchAssembler& evaluation, std::int64_t batch,
                                int world_size) {
  const auto limit = evaluation.sampler().options().size;
  TROUPE_TRY(const auto sampler, DistributedSampler::create(evaluation_sampler(
                                     evaluation.dataset().size(), batch, world_size, limit)));
  return evaluation.with(sampler);
}

} // namespace troupe::data
