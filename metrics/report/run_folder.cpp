#include "metrics/report/run_folder.hpp"

#include "core/atomic_file.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "metrics/page/page.hpp"

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

namespace troupe::metrics {

namespace {

/// Entries that mark a run's folder. config.yaml is not one of them: other programs write it, too.
constexpr std::array<std::string_view, 5> run_marks = {run_files::steps, run_files::info,
                                                       run_files::summary, run_files::members,
                                                       run_files::checkpoints};

/// Files written through a temporary file.
constexpr std::array<std::string_view, 5> whole_files = {
    run_files::config, run_files::info, run_files::summary, run_files::report, run_files::members};

/// Removes temporary files of a killed process. Precondition: only this process writes to the
/// folder.
void remove_temporaries(const std::filesystem::path& run) {
  std::error_code ignored;
  for (std::filesystem::directory_iterator at{run, ignored}, end; !ignored && at != end;
       at.increment(ignored)) {
    const auto target = AtomicFile::target_of(at->path().filename());
    if (std::error_code error; target && std::ranges::count(whole_files, target->string()) > 0)
      std::filesystem::remove(at->path(), error);
  }
}

/// The file for lines that are cut off: nodes that join later may bring a later state. Empty
/// without daemons, because the lines are produced again, and for membership changes, which are
/// always kept.
std::filesystem::path aside_of(const std::filesystem::path& lines, const RunWriter& writer) {
  if (writer.staging.empty() || lines.filename() == run_files::recoveries)
    return {};
  return writer.staging / (lines.filename().string() + ".cut");
}

/// Opens a line file; keeps the lines before the run's first step.
template <class Record>
Result<JsonLines> open_lines(const std::filesystem::path& path,
                             std::optional<Record> (*parse)(std::string_view), Recollection& before,
                             const RunWriter& writer) {
  const auto keep = [&](std::string_view line) {
    const auto record = parse(line);
    return record && before.add(*record);
  };
  const auto aside = aside_of(path, writer);
  return writer.takes_over ? JsonLines::take_over(path, writer.staging, keep, aside)
                           : JsonLines::open(path, keep, aside);
}

} // namespace

Result<RunFolder> RunFolder::open(const std::filesystem::path& output, const RunInfo& run,
                                  std::string_view config_yaml, const RunWriter& writer) {
  auto path = output / run.name;
  TROUPE_TRY(make_folders(path));
  Recollection before{run};
  TROUPE_TRY(auto steps, open_lines(path / run_files::steps, parse_step, before, writer));
  TROUPE_TRY(auto epochs, open_lines(path / run_files::epochs, parse_epoch, before, writer));
  TROUPE_TRY(auto recoveries,
             open_lines(path / run_files::recoveries, parse_recovery, before, writer));
  TROUPE_TRY(auto samples, open_lines(path / run_files::samples, parse_generated, before, writer));
  RunFolder folder(std::move(path), writer.staging,
                   {std::move(steps), std::move(epochs), std::move(recoveries), std::move(samples)},
                   std::move(before));
  remove_temporaries(folder.path_);
  std::error_code error;
  std::filesystem::remove(folder.summary(), error);
  std::filesystem::remove(folder.report(), error);
  TROUPE_TRY(write_file_atomically(folder.path_ / run_files::config, config_yaml, writer.staging));
  TROUPE_TRY(folder.write(run));
  if (writer.staging.empty()) // a single-process run: no daemon must continue the earlier job
    std::filesystem::remove(folder.path_ / run_files::members, error);
  return folder;
}

Status check_unwritten(const std::filesystem::path& run) {
  return check_not_written(run / run_files::steps);
}

Status check_no_other_files(const std::filesystem::path& run) {
  std::error_code unreadable; // reported when the first file is written
  std::string other;
  for (std::filesystem::directory_iterator at{run, unreadable}, end; !unreadable && at != end;
       at.increment(unreadable)) {
    const auto name = at->path().filename().string();
    if (std::ranges::count(run_marks, name) > 0)
      return {};
    if (!name.starts_with('.') && name != "lost+found") // lost+found: created on new volumes
      other = name;
  }
  if (other.empty())
    return {};
  return fail(Errc::invalid_input,
              "{} has files ({}) but no run of troupe; choose another run.name or run.output",
              escaped(run.string()), echoed(other));
}

Status RunFolder::settle() {
  for (auto* lines : {&lines_.steps, &lines_.epochs, &lines_.recoveries, &lines_.samples})
    TROUPE_TRY(lines->settle());
  return {};
}

Status RunFolder::write(const RunInfo& run) const {
  return write_file_atomically(path_ / run_files::info, to_json(run), staging_);
}

Status RunFolder::write(const RunSummary& last) const {
  return write_file_atomically(summary(), to_json(last), staging_);
}

Status RunFolder::write_report(std::string_view document) const {
  return write_file_atomically(report(), standalone_page(document), staging_);
}

} // namespace troupe::metrics
