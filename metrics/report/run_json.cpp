#include "run_json.hpp"

#include "../time_stamp.hpp"

#include <nlohmann/json.hpp>

#include <limits>

namespace troupe::metrics {

namespace {

using Json = nlohmann::ordered_json;

Json number(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json text(const std::string& value) {
  return value.empty() ? Json(nullptr) : Json(value);
}

double number(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>()
                                                     : std::numeric_limits<double>::quiet_NaN();
}

std::optional<double> optional_number(const Json& object, const char* key) {
  const auto value = number(object, key);
  return value == value ? std::optional(value) : std::nullopt;
}

/// 1970 where there is none: records of earlier versions.
std::chrono::system_clock::time_point moment(const Json& object, const char* key) {
  const auto found = object.find(key);
  const bool is_text = found != object.end() && found->is_string();
  const auto time = is_text ? parse_utc(found->get<std::string>()) : std::nullopt;
  return time.value_or(std::chrono::system_clock::time_point{});
}

template <class Integer>
Integer integer(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<Integer>() : Integer{};
}

Json by_kind(const std::array<std::size_t, memory_kinds>& bytes) {
  Json object = Json::object();
  for (std::size_t i = 0; i < memory_kinds; ++i)
    object[std::string(to_string(static_cast<MemoryKind>(i)))] = bytes[i];
  return object;
}

Json to_object(const WorkerSummary& worker) {
  return {{"rank", worker.rank},
          {"device", worker.device},
          {"peak_memory_bytes", worker.peak_memory_bytes},
          {"parameter_bytes", worker.parameter_bytes},
          {"gradient_bytes", worker.gradient_bytes},
          {"optimizer_bytes", worker.optimizer_bytes},
          {"busy_ratio", worker.busy_ratio},
          {"peak_bytes_by_kind", by_kind(worker.memory.peak)}};
}

/// By the names of the kinds that were used.
Json to_object(const std::array<CollectiveUse, collective_kind_names.size()>& collectives) {
  Json object = Json::object();
  for (std::size_t i = 0; i < collectives.size(); ++i)
    if (const auto& use = collectives[i]; use != CollectiveUse{})
      object[std::string(collective_kind_names[i])] = {{"bytes", use.bytes},
                                                       {"seconds", use.seconds}};
  return object;
}

void parse_collectives(const Json& step, StepRecord& record) {
  const auto kinds = step.find("collectives");
  if (kinds == step.end() || !kinds->is_object())
    return;
  for (std::size_t i = 0; i < collective_kind_names.size(); ++i)
    if (const auto use = kinds->find(collective_kind_names[i]);
        use != kinds->end() && use->is_object())
      record.collectives[i] = {integer<std::uint64_t>(*use, "bytes"), number(*use, "seconds")};
}

/// Adds what only runs that scale their losses have.
template <class Record>
void add_loss_scale(Json& object, const Record& record) {
  if (!record.loss_scale)
    return;
  object["loss_scale"] = *record.loss_scale;
  object["skipped_steps"] = record.skipped_steps;
  object["loss_scale_growths"] = record.scale_growths;
}

} // namespace

std::string to_json(const StepRecord& step) {
  Json object = {{"step", step.step},
                 {"epoch", step.epoch},
                 {"time", utc_milliseconds(step.time)},
                 {"loss", step.loss},
                 {"accuracy", number(step.accuracy)},
                 {"lr", step.lr},
                 {"samples", step.samples},
                 {"seconds", step.seconds},
                 {"data_wait_seconds", step.data_wait_seconds},
                 {"compute_seconds", step.compute_seconds},
                 {"collective_bytes", step.collective_bytes},
                 {"collective_seconds", step.collective_seconds},
                 {"collectives", to_object(step.collectives)},
                 {"overlap_ratio", step.overlap_ratio}};
  if (step.gradient_norm)
    object["gradient_norm"] = *step.gradient_norm;
  add_loss_scale(object, step);
  return object.dump();
}

std::string to_json(const EpochRecord& epoch) {
  return Json{{"epoch", epoch.epoch},
              {"time", utc_milliseconds(epoch.time)},
              {"train_loss", epoch.train_loss},
              {"train_accuracy", number(epoch.train_accuracy)},
              {"test_loss", number(epoch.test_loss)},
              {"test_accuracy", number(epoch.test_accuracy)},
              {"seconds", epoch.seconds},
              {"test_seconds", number(epoch.test_seconds)}}
      .dump();
}

std::string to_json(const RunSummary& summary) {
  Json workers = Json::array();
  for (const auto& worker : summary.workers)
    workers.push_back(to_object(worker));
  Json object = {{"name", summary.name},
                 {"status", summary.status},
                 {"error", text(summary.error)},
                 {"epochs", summary.epochs},
                 {"steps", summary.steps},
                 {"samples", summary.samples},
                 {"seconds", summary.seconds},
                 {"samples_per_second", summary.samples_per_second},
                 {"loss", summary.loss},
                 {"accuracy", number(summary.accuracy)},
                 {"model", summary.model},
                 {"dataset", summary.dataset},
                 {"class_names", summary.class_names},
                 {"world_size", summary.world_size},
                 {"strategy", to_string(summary.strategy)},
                 {"precision", summary.precision},
                 {"batch_size", summary.batch_size},
                 {"steps_per_epoch", summary.steps_per_epoch},
                 {"total_steps", summary.total_steps},
                 {"first_step", summary.first_step},
                 {"parameters_sha256", summary.parameters_sha256},
                 {"overlap_ratio", summary.overlap_ratio},
                 {"unreadable_samples", summary.unreadable_samples},
                 {"unreadable_files", summary.unreadable_files},
                 {"checkpoints", summary.checkpoints},
                 {"checkpoint_failures", summary.checkpoint_failures},
                 {"checkpoint", text(summary.checkpoint)},
                 {"workers", workers},
                 {"started", utc(summary.started)},
                 {"host", summary.host},
                 {"version", summary.version}};
  add_loss_scale(object, summary);
  if (const auto& recompute = summary.recompute)
    object["recompute"] = {{"activation_bytes", recompute->activation_bytes},
                           {"activation_bytes_without", recompute->activation_bytes_without},
                           {"operations_ratio", recompute->operations_ratio}};
  // A name of the user's that is no UTF-8 must not cost the summary.
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<StepRecord> parse_step(std::string_view json) {
  const auto object = Json::parse(json, nullptr, false);
  if (!object.is_object() || !object.contains("step"))
    return std::nullopt;
  StepRecord step{.step = integer<std::int64_t>(object, "step"),
                  .epoch = integer<std::int64_t>(object, "epoch"),
                  .time = moment(object, "time"),
                  .loss = number(object, "loss"),
                  .accuracy = optional_number(object, "accuracy"),
                  .lr = number(object, "lr"),
                  .samples = integer<std::int64_t>(object, "samples"),
                  .seconds = number(object, "seconds"),
                  .data_wait_seconds = number(object, "data_wait_seconds"),
                  .compute_seconds = number(object, "compute_seconds"),
                  .collective_bytes = integer<std::uint64_t>(object, "collective_bytes"),
                  .collective_seconds = number(object, "collective_seconds"),
                  .overlap_ratio = number(object, "overlap_ratio"),
                  .gradient_norm = optional_number(object, "gradient_norm"),
                  .loss_scale = optional_number(object, "loss_scale"),
                  .skipped_steps = integer<std::int64_t>(object, "skipped_steps"),
                  .scale_growths = integer<std::int64_t>(object, "loss_scale_growths")};
  parse_collectives(object, step);
  return step;
}

std::optional<EpochRecord> parse_epoch(std::string_view json) {
  const auto object = Json::parse(json, nullptr, false);
  if (!object.is_object() || !object.contains("epoch"))
    return std::nullopt;
  return EpochRecord{.epoch = integer<std::int64_t>(object, "epoch"),
                     .time = moment(object, "time"),
                     .train_loss = number(object, "train_loss"),
                     .train_accuracy = optional_number(object, "train_accuracy"),
                     .test_loss = optional_number(object, "test_loss"),
                     .test_accuracy = optional_number(object, "test_accuracy"),
                     .seconds = number(object, "seconds"),
                     .test_seconds = optional_number(object, "test_seconds")};
}

} // namespace troupe::metrics
