#include "actors/node/detail/checkpoint_chunks.hpp"

#include "actors/inspect.hpp"
#include "core/fail.hpp"

#include <caf/all.hpp>

#include <cstring>
#include <tuple>

namespace troupe::actors {

namespace {

/// Sent before the values and after its own length.
struct Description {
  struct Tensor {
    std::string name;
    std::vector<std::int64_t> shape;

    auto fields() { return std::tie(name, shape); }
  };
  std::int64_t step = 0, epoch = 0;
  std::map<std::string, std::string> metadata;
  std::vector<Tensor> tensors;

  auto fields() { return std::tie(step, epoch, metadata, tensors); }
};

constexpr std::size_t length_bytes = 8;
constexpr std::size_t value_alignment = alignof(std::max_align_t);

/// Returns the description, preceded by its length and padded so that the values after it are
/// aligned.
std::string description_of(const Checkpoint& checkpoint) {
  Description description{.step = checkpoint.step,
                          .epoch = checkpoint.epoch,
                          .metadata = checkpoint.metadata,
                          .tensors = {}};
  for (const auto& tensor : checkpoint.tensors)
    description.tensors.push_back({tensor.name, tensor.shape.dims});
  caf::byte_buffer buffer;
  caf::binary_serializer sink{nullptr, buffer};
  [[maybe_unused]] const bool written = sink.apply(description);
  std::string text(length_bytes, '\0');
  text.append(reinterpret_cast<const char*>(buffer.data()), buffer.size());
  text.resize((text.size() + value_alignment - 1) / value_alignment * value_alignment);
  const std::uint64_t length = text.size() - length_bytes;
  std::memcpy(text.data(), &length, length_bytes);
  return text;
}

/// Adds the tensors. Checks that the values of all are present, and nothing else.
Status add_tensors(const Description& description, std::span<const std::byte> values,
                   Checkpoint& checkpoint) {
  const auto* next = reinterpret_cast<const float*>(values.data());
  std::size_t left = values.size() / sizeof(float);
  for (const auto& tensor : description.tensors) {
    const Shape shape{tensor.shape};
    const auto elements = static_cast<std::size_t>(shape.elements());
    if (elements > left)
      return fail(Errc::corrupt, "the received checkpoint ends in the middle of tensor {}",
                  tensor.name);
    checkpoint.tensors.push_back({tensor.name, shape, {next, elements}});
    next += elements;
    left -= elements;
  }
  if (left > 0)
    return fail(Errc::corrupt,
                "the received checkpoint is longer than its description, by {} values", left);
  return {};
}

} // namespace

CheckpointChunks::CheckpointChunks(std::shared_ptr<const Checkpoint> checkpoint)
    : checkpoint_{std::move(checkpoint)}, description_{description_of(*checkpoint_)} {
  append(std::as_bytes(std::span{description_}));
  for (const auto& tensor : checkpoint_->tensors)
    append(std::as_bytes(tensor.values));
}

void CheckpointChunks::append(std::span<const std::byte> bytes) {
  parts_.push_back(bytes);
  bytes_ += std::ssize(bytes);
}

Result<Checkpoint> join_chunks(std::shared_ptr<const std::byte[]> bytes, std::int64_t size) {
  const std::span all{bytes.get(), static_cast<std::size_t>(size)};
  std::uint64_t length = 0;
  if (all.size() >= length_bytes)
    std::memcpy(&length, all.data(), length_bytes);
  if (all.size() < length_bytes || length > all.size() - length_bytes)
    return fail(Errc::corrupt, "the received checkpoint has no description");
  Description description;
  caf::binary_deserializer source{nullptr, all.data() + length_bytes, length};
  if (!source.apply(description))
    return fail(Errc::corrupt, "the received checkpoint has a damaged description");
  Checkpoint checkpoint{.step = description.step,
                        .epoch = description.epoch,
                        .metadata = std::move(description.metadata),
                        .tensors = {},
                        .storage = std::move(bytes)};
  TROUPE_TRY(add_tensors(description, all.subspan(length_bytes + length), checkpoint));
  return checkpoint;
}

} // namespace troupe::actors
