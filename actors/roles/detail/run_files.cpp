#include "actors/roles/detail/run_files.hpp"

#include "core/fail.hpp"

namespace troupe::actors {

namespace {

/// Shortest time between two reports after an epoch or a sample.
constexpr std::chrono::seconds short_pause{10};

} // namespace

void RunFiles::begin(const metrics::RunInfo& info) {
  info_ = info;
  next_step_ = info.first_step;
  write_report();
}

void RunFiles::go_on(const metrics::RunInfo& info) {
  begin(info);
  write_info();
}

void RunFiles::record(const metrics::StepRecord& step) {
  next_step_ = step.step + 1;
  raise_peak(step.peak_operations);
  errors_.lose_line(folder_.append(step));
}

void RunFiles::record(const metrics::EpochRecord& epoch) {
  errors_.lose_line(folder_.append(epoch));
  write_report_after(short_pause);
}

void RunFiles::record(const metrics::RecoveryRecord& recovery) {
  errors_.lose_line(folder_.append(recovery));
}

void RunFiles::record(const metrics::GeneratedRecord& generated) {
  errors_.lose_line(folder_.append(generated));
  write_report_after(short_pause);
}

/// Peaks of devices are measured while the run trains.
void RunFiles::raise_peak(double operations) {
  if (operations <= info_.peak_operations)
    return;
  info_.peak_operations = operations;
  write_info();
}

/// If run.json cannot be written now, it is written with the next measurement, the next generation
/// or the end of the run.
void RunFiles::write_info() {
  const auto written = folder_.write(info_);
  errors_.warn(written);
  info_unwritten_ = !written;
}

/// A failed write only warns, because the end of the run writes the report again.
void RunFiles::write_report() {
  errors_.warn(folder_.write_report(page_.standalone()));
  reported_ = std::chrono::steady_clock::now();
}

/// Not after the end, which wrote the last report: a daemon may run long after it.
void RunFiles::write_report_after(std::chrono::seconds pause) {
  if (!ended_ && std::chrono::steady_clock::now() - reported_ >= pause)
    write_report();
}

void RunFiles::settle(const metrics::RunSummary& summary) {
  raise_peak(summary.peak_operations); // measured after the last step
  errors_.lose(folder_.settle());
  if (info_unwritten_)
    errors_.lose(folder_.write(info_));
}

Status RunFiles::finish(const metrics::RunSummary& summary) {
  ended_ = true;
  TROUPE_TRY(folder_.write(summary));
  return folder_.write_report(page_.standalone());
}

} // namespace troupe::actors
