#include "metrics/tensorboard/detail/event.hpp"

#include "core/protobuf.hpp"
#include "metrics/tensorboard/detail/crc32c.hpp"

namespace troupe::metrics {

namespace {

using protobuf::Message;

/// Field numbers, by message.
namespace number {
enum Event { wall_time = 1, step = 2, file_version = 3, summary = 5, session_log = 7 };
enum Summary { value = 1 };
enum Value { tag = 1, simple_value = 2 };
enum SessionLog { status = 1 };
} // namespace number

constexpr std::int64_t session_starts = 1;

std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (; bytes > 0; --bytes, value >>= 8)
    text += static_cast<char>(value & 0xff);
  return text;
}

/// The length, its checksum, the data, its checksum.
std::string record(const Message& event) {
  const auto& data = event.bytes();
  const auto length = little_endian(data.size(), 8);
  return length + little_endian(masked_crc32c(length), 4) + data +
         little_endian(masked_crc32c(data), 4);
}

Message event_at(WallTime time) {
  const std::chrono::duration<double> seconds = time.time_since_epoch();
  return std::move(Message{}.real(number::wall_time, seconds.count()));
}

} // namespace

std::string file_version_record(WallTime time) {
  return record(event_at(time).text(number::file_version, "brain.Event:2"));
}

std::string restart_record(WallTime time, std::int64_t step) {
  return record(
      event_at(time)
          .integer(number::step, step)
          .message(number::session_log, Message{}.integer(number::status, session_starts)));
}

std::string scalars_record(WallTime time, std::int64_t step, std::span<const Scalar> scalars) {
  Message summary;
  for (const auto& scalar : scalars)
    summary.message(number::value,
                    Message{}
                        .text(number::tag, scalar.tag)
                        .real(number::simple_value, static_cast<float>(scalar.value)));
  return record(event_at(time).integer(number::step, step).message(number::summary, summary));
}

} // namespace troupe::metrics
