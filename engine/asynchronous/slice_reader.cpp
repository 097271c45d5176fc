#include "engine/asynchronous/slice_reader.hpp"

#include "core/fail.hpp"

namespace troupe::engine {

using collectives::Bucket;
using collectives::Mail;
using collectives::MailPtr;

SliceReader::SliceReader(std::shared_ptr<Replica> replica, std::shared_ptr<collectives::Post> post)
    : replica_{std::move(replica)}, post_{std::move(post)},
      read_(static_cast<std::size_t>(state().strategy().world_size)) {}

void SliceReader::take(const MailPtr& mail) {
  const auto owner = static_cast<std::size_t>(mail->from);
  read_[owner] = Parameters::of(*mail).at;
  if (!mail->values)
    return;
  const auto& plan = state().plan();
  for (const auto& bucket : plan.buckets) {
    const auto elements = plan.shard_elements(bucket);
    replica().device().copy(stream(), state().parameters(bucket) + owner * elements,
                            mail->values->floats() + plan.shard_offset(bucket),
                            elements * sizeof(float));
  }
  stream().on_complete([mail](const Status&) {}); // it lives so long
}

Status SliceReader::take_rest(Version version, float scale) {
  if (state().commits_statistics())
    state().revert_statistics(stream(), version - 1);
  return state().loss_scale() && scale != scale_ ? take_scale(scale) : Status{};
}

/// From memory of which the stream does not have to be waited for, as it may be where a device
/// copies from any.
Status SliceReader::take_scale(float scale) {
  auto& device = replica().device();
  TROUPE_TRY(const auto value, device.allocate(sizeof scale, mail_memory(device)));
  *value->floats() = scale;
  device.copy(stream(), state().read_scale(), value->data(), sizeof scale);
  stream().on_complete([value](const Status&) {}); // it lives so long
  scale_ = scale;
  return {};
}

Result<BufferPtr> SliceReader::copy(const float* values, std::size_t elements) {
  const auto bytes = elements * sizeof(float);
  TROUPE_TRY(auto buffer, replica().device().allocate(bytes, mail_memory(replica().device())));
  replica().device().copy(stream(), buffer->data(), values, bytes);
  return buffer;
}

void SliceReader::send(std::vector<Mail> mail) {
  stream().on_complete([post = post_, mail = std::move(mail)](const Status& status) mutable {
    if (!status)
      return; // the stream has failed, and says so itself
    for (auto& each : mail)
      post->send(std::move(each));
  });
}

Result<std::uint64_t> SliceReader::give(const Bucket& bucket, std::size_t number, SliceOf slice) {
  float* const all = state().gradients(bucket);
  replica().device().zero(stream(), all + bucket.elements - bucket.padding,
                          bucket.padding * sizeof(float));
  const auto elements = state().plan().shard_elements(bucket);
  std::vector<Mail> mail;
  std::uint64_t bytes = 0;
  for (int owner = 0; owner < std::ssize(read_); ++owner) {
    auto one = Gradients{.step = slice.step,
                         .slice = slice.slice,
                         .bucket = number,
                         .read = read(owner).version,
                         .scale = scale_.value_or(1)}
                   .to_mail();
    one.from = replica().rank;
    one.to = owner;
    one.bytes = elements * sizeof(float);
    TROUPE_TRY(one.values, copy(all + static_cast<std::size_t>(owner) * elements, elements));
    bytes += owner == replica().rank ? 0 : one.bytes;
    mail.push_back(std::move(one));
  }
  send(std::move(mail));
  return bytes;
}

Result<std::uint64_t> SliceReader::give_statistics(std::int64_t step) {
  const auto elements = state().layout().statistic_elements;
  TROUPE_TRY(const auto values, copy(state().statistics(), elements));
  std::vector<Mail> mail;
  for (int rank = 0; rank < std::ssize(read_); ++rank) {
    auto one = mail_of_step(Letter::statistics, step);
    one.from = replica().rank;
    one.to = rank;
    one.bytes = elements * sizeof(float);
    one.values = values;
    mail.push_back(std::move(one));
  }
  send(std::move(mail));
  return (read_.size() - 1) * elements * sizeof(float);
}

} // namespace troupe::engine
