#include "metrics/tensorboard/event_file.hpp"

#include "core/atomic_file.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "core/protobuf.hpp"
#include "metrics/tensorboard/detail/crc32c.hpp"
#include "metrics/text_figures.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace troupe::metrics {

namespace {

using protobuf::Message;
using std::chrono::system_clock;
using WallTime = system_clock::time_point;

constexpr std::int64_t steps_of_a_kind = 100000;

/// Named like TensorFlow's and PyTorch's files; `number` distinguishes files of one process and
/// second.
std::string file_name(const std::string& host, system_clock::time_point now, int number) {
  return fmt::format("events.out.tfevents.{:010}.{}.{}.{}", system_clock::to_time_t(now), host,
                     ::getpid(), number);
}

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

struct Scalar {
  std::string tag; ///< "train/loss"
  double value = 0;
};
using Scalars = std::vector<Scalar>;

/// The first record of a file.
std::string file_version_record(WallTime time) {
  return record(event_at(time).text(number::file_version, "brain.Event:2"));
}

/// Marks this step and later ones in earlier files as repeated.
std::string restart_record(WallTime time, std::int64_t step) {
  return record(
      event_at(time)
          .integer(number::step, step)
          .message(number::session_log, Message{}.integer(number::status, session_starts)));
}

std::string scalars_record(WallTime time, std::int64_t step, const Scalars& scalars) {
  Message summary;
  for (const auto& scalar : scalars)
    summary.message(number::value,
                    Message{}
                        .text(number::tag, scalar.tag)
                        .real(number::simple_value, static_cast<float>(scalar.value)));
  return record(event_at(time).integer(number::step, step).message(number::summary, summary));
}

void add(Scalars& scalars, std::string_view tag, const std::optional<double>& value) {
  if (value)
    scalars.push_back({std::string{tag}, *value});
}

/// The fields that have a tag.
template <class Record>
Scalars scalars_of(const Record& record) {
  Scalars scalars;
  for_each_field<Record>([&](const auto& field) {
    if (!field.traits.tag.empty())
      add(scalars, field.traits.tag, number_of(field, record));
  });
  return scalars;
}

} // namespace

Result<EventFile> EventFile::create(const std::filesystem::path& folder, const RunInfo& run) {
  TROUPE_TRY(make_folders(folder));
  const auto now = system_clock::now();
  for (int number = 0;; ++number) {
    const auto path = folder / file_name(run.host, now, number);
    net::Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!file && errno == EEXIST)
      continue;
    if (!file)
      return fail(code_of_write(errno), "cannot open {}: {}", echoed(path.string()),
                  std::strerror(errno));
    EventFile events{path, std::move(file), run};
    TROUPE_TRY(events.append(file_version_record(now) + restart_record(now, run.first_step)));
    return events;
  }
}

bool EventFile::has_step(std::int64_t step) {
  std::int64_t every = 1;
  while (step / every >= steps_of_a_kind)
    every *= 10;
  return step % every == 0;
}

Status EventFile::append(const StepRecord& step) {
  last_step_ = step.step;
  if (!has_step(step.step))
    return {};
  auto scalars = scalars_of(step);
  add(scalars, "train/perplexity", perplexity(run_, step.loss));
  if (step.seconds > 0) {
    const auto rate = static_cast<double>(step.samples) / step.seconds;
    add(scalars, "throughput/samples_per_second", rate);
    add(scalars, "throughput/tokens_per_second", tokens_per_second(run_, rate));
  }
  return append(scalars_record(step.time, step.step, scalars));
}

Status EventFile::append(const EpochRecord& epoch) {
  auto scalars = scalars_of(epoch);
  add(scalars, "test/perplexity", perplexity(run_, epoch.test_loss));
  for (const auto& [rank, bytes] : peaks_)
    scalars.push_back({fmt::format("memory/rank_{}_peak_bytes", rank), static_cast<double>(bytes)});
  return append(scalars_record(epoch.time, last_step_, scalars));
}

Status EventFile::append(std::string_view record) {
  if (!net::write_all(file_.number(), record)) {
    const int number = errno;
    // Records after an incomplete one could not be read.
    const bool cut = ::ftruncate(file_.number(), size_) == 0 &&
                     ::lseek(file_.number(), size_, SEEK_SET) == size_;
    return fail(code_of_write(number), "cannot write {}: {}{}", echoed(path_.string()),
                std::strerror(number), cut ? "" : " (its last record is incomplete)");
  }
  size_ += std::ssize(record);
  return {};
}

} // namespace troupe::metrics
