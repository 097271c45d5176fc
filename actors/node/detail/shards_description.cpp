#include "actors/node/detail/shards_description.hpp"

#include "actors/inspect.hpp"
#include "core/fail.hpp"

#include <caf/all.hpp>

#include <cstring>
#include <tuple>

namespace troupe::actors {

namespace {

/// The format on the wire.
struct TravellingDescription {
  struct Part {
    std::int32_t shard = 0;
    std::string name, text; ///< as in a file of a sharded checkpoint
    std::uint64_t elements = 0;

    auto fields() { return std::tie(shard, name, text, elements); }
  };
  std::int64_t step = 0, epoch = 0;
  std::map<std::string, std::string> metadata;
  std::vector<Part> parts;

  auto fields() { return std::tie(step, epoch, metadata, parts); }
};

} // namespace

std::vector<std::byte> to_bytes(const training::RetainedState& retained) {
  TravellingDescription description{.step = retained.header.step,
                                    .epoch = retained.header.epoch,
                                    .metadata = retained.header.metadata,
                                    .parts = {}};
  for (const auto& [part, values] : retained.parts)
    description.parts.push_back(
        {part.shard, part.what.name, to_string(part.what), part.what.elements});
  caf::byte_buffer buffer;
  caf::binary_serializer sink{nullptr, buffer};
  [[maybe_unused]] const bool written = sink.apply(description);
  std::vector<std::byte> bytes(buffer.size());
  std::memcpy(bytes.data(), buffer.data(), bytes.size());
  return bytes;
}

Result<ShardsDescription> parse_parts(std::span<const std::byte> bytes) {
  TravellingDescription description;
  caf::binary_deserializer source{nullptr, bytes.data(), bytes.size()};
  if (!source.apply(description))
    return fail(Errc::corrupt, "the received description of a node's state shards is damaged");
  ShardsDescription parts{.header = {.step = description.step,
                                     .epoch = description.epoch,
                                     .metadata = std::move(description.metadata),
                                     .tensors = {}},
                          .parts = {}};
  for (const auto& part : description.parts) {
    TROUPE_TRY(auto what, parse_part(part.name, part.text, part.elements));
    parts.parts.push_back({part.shard, std::move(what)});
  }
  return parts;
}

} // namespace troupe::actors
