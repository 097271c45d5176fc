#include "metrics/tensorboard/event_file.hpp"

#include "core/atomic_file.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "metrics/tensorboard/detail/event.hpp"
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

using std::chrono::system_clock;

constexpr std::int64_t steps_of_a_kind = 100000;

Errc errc_of(int number) {
  return number == ENOSPC || number == EDQUOT || number == EFBIG ? Errc::no_space : Errc::io;
}

/// Named like TensorFlow's and PyTorch's files; `number` distinguishes files of one process and
/// second.
std::string file_name(const std::string& host, system_clock::time_point now, int number) {
  return fmt::format("events.out.tfevents.{:010}.{}.{}.{}", system_clock::to_time_t(now), host,
                     ::getpid(), number);
}

using Scalars = std::vector<Scalar>;

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
      return fail(errc_of(errno), "cannot open {}: {}", echoed(path.string()),
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
  for (auto left = record; !left.empty();) {
    const auto count = ::write(file_.number(), left.data(), left.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0) {
      const int number = errno;
      // Records after an incomplete one could not be read.
      const bool cut = ::ftruncate(file_.number(), size_) == 0 &&
                       ::lseek(file_.number(), size_, SEEK_SET) == size_;
      return fail(errc_of(number), "cannot write {}: {}{}", echoed(path_.string()),
                  std::strerror(number), cut ? "" : " (its last record is incomplete)");
    }
    left.remove_prefix(static_cast<std::size_t>(count));
  }
  size_ += std::ssize(record);
  return {};
}

} // namespace troupe::metrics
