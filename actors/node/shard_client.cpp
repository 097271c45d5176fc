#include "actors/node/detail/checked_chunks.hpp"
#include "actors/node/detail/shard_link.hpp"
#include "actors/node/detail/shards_description.hpp"
#include "actors/node/shard_transfer.hpp"
#include "core/checkpoint/state_in_parts.hpp"
#include "core/fail.hpp"
#include "core/net/peer_endpoint.hpp"

#include <mutex>

namespace troupe::actors {

namespace {

/// No model has a longer description.
constexpr std::uint64_t longest_description = std::uint64_t{1} << 30;

/// A connection to a node that has parts. Its requests are serialized.
class Holder {
public:
  Holder(net::Connection connection, std::shared_ptr<collectives::ConnectionGroup> connection_group,
         std::chrono::milliseconds timeout)
      : connection_{std::move(connection)},
        connection_group_{std::move(connection_group)}, timeout_{timeout} {}

  Result<ShardsDescription> description() {
    const auto io_deadline = connection_group_->io_deadline(timeout_);
    std::uint64_t size = 0;
    TROUPE_TRY(
        net::read_all(connection_, std::as_writable_bytes(std::span{&size, 1}), io_deadline));
    if (size > longest_description)
      return fail(Errc::corrupt, "received an invalid description size: {} bytes", size);
    std::vector<std::byte> bytes(size);
    TROUPE_TRY(receive_chunks(connection_, bytes, io_deadline));
    return parse_parts(bytes);
  }

  Status read(const ShardRequest& request, std::span<float> into) {
    const std::lock_guard lock{mutex_};
    const auto io_deadline = connection_group_->io_deadline(timeout_);
    TROUPE_TRY(net::write_all(connection_, std::as_bytes(std::span{&request, 1}), io_deadline));
    return receive_chunks(connection_, std::as_writable_bytes(into), io_deadline);
  }

private:
  std::mutex mutex_;
  net::Connection connection_;
  std::shared_ptr<collectives::ConnectionGroup> connection_group_;
  std::chrono::milliseconds timeout_;
};

class RemoteValues final : public PartValues {
public:
  RemoteValues(std::shared_ptr<Holder> holder, std::uint64_t part)
      : holder_{std::move(holder)}, part_{part} {}

  Status read(std::size_t first, std::span<float> into) const override {
    return holder_->read({part_, first, into.size()}, into);
  }

private:
  std::shared_ptr<Holder> holder_;
  std::uint64_t part_;
};

class LocalValues final : public PartValues {
public:
  LocalValues(std::shared_ptr<const training::RetainedState> retained,
              std::span<const float> values)
      : held_{std::move(retained)}, values_{values} {}

  Status read(std::size_t first, std::span<float> into) const override {
    std::ranges::copy(values_.subspan(first, into.size()), into.begin());
    return {};
  }

private:
  std::shared_ptr<const training::RetainedState> held_; ///< keeps the values alive
  std::span<const float> values_;
};

/// Takes each shard from the node that the record assigns for it, and statistics from the first
/// node that has any parts.
class Gatherer {
public:
  Gatherer(const training::GenerationRecord& generation, std::size_t node)
      : generation_{generation}, node_{node} {}

  template <class Values>
  Status add(std::size_t holder, const CheckpointHeader& header,
             std::span<const training::RetainedTensorPart> parts, const Values& values_of) {
    if (header.step != generation_.step)
      return fail(Errc::corrupt,
                  "node {} has shards of the state of step {}, but step {} is needed", holder + 1,
                  header.step, generation_.step);
    const bool is_first = parts_.empty();
    if (is_first)
      header_ = header;
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (parts[i].is_statistic() ? is_first
                                  : generation_.holder_of(parts[i].shard, node_) == holder)
        parts_.push_back({parts[i].what, values_of(i)});
    return {};
  }

  Result<StateSourcePtr> finish() { return state_in_parts(header_, std::move(parts_)); }

private:
  const training::GenerationRecord& generation_;
  std::size_t node_;
  CheckpointHeader header_;
  std::vector<PartOfState> parts_;
};

Status add_own(Gatherer& gatherer, std::size_t node,
               const std::shared_ptr<const training::RetainedState>& retained) {
  std::vector<training::RetainedTensorPart> parts;
  for (const auto& part : retained->parts)
    parts.push_back(part.what);
  return gatherer.add(node, retained->header, parts, [&](std::size_t i) {
    return std::make_shared<LocalValues>(retained, retained->parts[i].values);
  });
}

} // namespace

Result<StateSourcePtr>
gather_shards(const std::shared_ptr<collectives::ConnectionGroup>& connection_group,
              const training::NodeAssignment& assignment,
              const std::shared_ptr<const training::RetainedState>& retained,
              const TimeoutsConfig& timeouts, const std::function<void(const std::string&)>& say) {
  const auto& generation = assignment.generation;
  const auto me = static_cast<std::size_t>(assignment.node);
  Gatherer gatherer{generation, me};
  if (retained)
    TROUPE_TRY(add_own(gatherer, me, retained));
  for (std::size_t node = 0; node < generation.nodes.size(); ++node) {
    if (!reads_from(generation, me, node))
      continue;
    const auto& from = generation.nodes[node];
    say(fmt::format("reading shards of the state from {}", from.address));
    TROUPE_TRY(auto connection, connection_group->connect(net::peer_endpoint(from.data),
                                                          shard_link(me, node), timeouts.quorum));
    const auto holder =
        std::make_shared<Holder>(std::move(connection), connection_group, timeouts.collective);
    TROUPE_TRY(const auto description, holder->description());
    TROUPE_TRY(gatherer.add(node, description.header, description.parts, [&](std::size_t i) {
      return std::make_shared<RemoteValues>(holder, i);
    }));
  }
  return gatherer.finish();
}

} // namespace troupe::actors
