#include "actors/roles/detail/data_notes.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace troupe::actors {

void DataNotes::watch(const training::Job& job) {
  if (job.training)
    watch(job.training->adapter(), "training");
  if (job.evaluation)
    watch(job.evaluation->adapter(), "evaluation");
}

void DataNotes::watch(const data::Adapter& adapter, std::string_view request) {
  if (const auto text = adapter.dataset().left_out().unread_text(); !text.empty())
    log_->warn("{} data ({}): {}", request, adapter.dataset().name(), text);
  if (auto files = adapter.unreadable())
    unreadable_.push_back(std::move(files));
  if (auto files = adapter.damaged())
    damaged_.push_back(std::move(files));
}

void DataNotes::log_new() {
  const auto warn = [this](auto& files) {
    for (const auto& line : files->take_lines())
      log_->warn("{}", line);
  };
  std::ranges::for_each(unreadable_, warn);
  std::ranges::for_each(damaged_, warn);
}

void DataNotes::log_total() const {
  const auto [samples, files] = counts();
  if (samples > 0)
    log_->warn("skipped {} sample{} of {} unreadable file{}; `troupe data check` lists them",
               samples, samples == 1 ? "" : "s", files, files == 1 ? "" : "s");
}

data::FileNotes::Counts DataNotes::counts() const {
  data::FileNotes::Counts all;
  for (const auto& files : unreadable_) {
    const auto counts = files->counts();
    all.samples += counts.samples;
    all.files += counts.files;
  }
  return all;
}

} // namespace troupe::actors
