#include "metrics/report/run_json.hpp"

#include "core/json.hpp"
#include "metrics/report/detail/json_values.hpp"
#include "metrics/report/detail/loss_scale_json.hpp"

namespace troupe::metrics {

namespace {

/// Keyed by kind; only kinds that were used.
OrderedJson to_object(const std::array<CollectiveUse, collective_kind_names.size()>& collectives) {
  OrderedJson object = OrderedJson::object();
  for (std::size_t i = 0; i < collectives.size(); ++i)
    if (const auto& use = collectives[i]; use != CollectiveUse{})
      object[std::string(collective_kind_names[i])] = {{"bytes", use.bytes},
                                                       {"seconds", use.seconds}};
  return object;
}

} // namespace

std::string to_json(const RecoveryRecord& recovery) {
  const OrderedJson object = {{"generation", recovery.generation},
                              {"time", utc_milliseconds(recovery.time)},
                              {"reason", recovery.reason},
                              {"is_loss", recovery.is_loss},
                              {"step", recovery.step},
                              {"steps_repeated", recovery.steps_repeated},
                              {"world_size", recovery.world_size},
                              {"seconds", recovery.seconds()},
                              {"detect_seconds", recovery.detect},
                              {"halt_seconds", recovery.halt},
                              {"heal_seconds", recovery.heal},
                              {"connect_seconds", recovery.connect},
                              {"first_step_seconds", recovery.first_step}};
  return object.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

std::optional<RecoveryRecord> parse_recovery(std::string_view json) {
  const auto object = parse_json<OrderedJson>(json).value_or(nullptr);
  if (!object.is_object() || !object.contains("generation"))
    return std::nullopt;
  return RecoveryRecord{.time = moment_at(object, "time"),
                        .generation = integer_at<std::int64_t>(object, "generation"),
                        .reason = text_at(object, "reason"),
                        .is_loss = object.contains("is_loss") && object.at("is_loss") == true,
                        .step = integer_at<std::int64_t>(object, "step"),
                        .steps_repeated = integer_at<std::int64_t>(object, "steps_repeated"),
                        .world_size = integer_at<std::int32_t>(object, "world_size"),
                        .detect = number_at(object, "detect_seconds"),
                        .halt = number_at(object, "halt_seconds"),
                        .heal = number_at(object, "heal_seconds"),
                        .connect = number_at(object, "connect_seconds"),
                        .first_step = number_at(object, "first_step_seconds")};
}

std::string to_json(const GeneratedRecord& generated) {
  return dumped(OrderedJson{{"step", generated.step},
                            {"time", utc_milliseconds(generated.time)},
                            {"prompt", generated.prompt},
                            {"text", generated.text},
                            {"tokens", generated.tokens},
                            {"seconds", generated.seconds}});
}

std::optional<GeneratedRecord> parse_generated(std::string_view json) {
  const auto object = parse_json<OrderedJson>(json).value_or(nullptr);
  if (!object.is_object() || !object.contains("text"))
    return std::nullopt;
  return GeneratedRecord{.step = integer_at<std::int64_t>(object, "step"),
                         .time = moment_at(object, "time"),
                         .prompt = text_at(object, "prompt"),
                         .text = text_at(object, "text"),
                         .tokens = integer_at<std::int64_t>(object, "tokens"),
                         .seconds = number_at(object, "seconds")};
}

std::string to_json(const StepRecord& step) {
  OrderedJson object = {{"step", step.step},
                        {"epoch", step.epoch},
                        {"time", utc_milliseconds(step.time)},
                        {"loss", step.loss},
                        {"accuracy", number_or_null(step.accuracy)},
                        {"lr", step.lr},
                        {"samples", step.samples},
                        {"seconds", step.seconds},
                        {"data_wait_seconds", step.data_wait_seconds},
                        {"compute_seconds", step.compute_seconds},
                        {"optimizer_seconds", step.optimizer_seconds},
                        {"collective_bytes", step.collective_bytes},
                        {"collective_seconds", step.collective_seconds},
                        {"collectives", to_object(step.collectives)},
                        {"overlap_ratio", step.overlap_ratio}};
  if (step.mfu)
    object["mfu"] = *step.mfu;
  if (step.gradient_norm)
    object["gradient_norm"] = *step.gradient_norm;
  if (!step.slice_assignment.empty()) {
    object["slice_assignment"] = step.slice_assignment;
    object["dealing"] = step.slice_assignment; // the name before 0.2, until 0.3
  }
  if (step.staleness)
    object["staleness"] = *step.staleness;
  if (step.item_seconds) {
    object["work_item_seconds"] = *step.item_seconds;
    object["lease_seconds"] = *step.item_seconds; // the name before 0.2, until 0.3
  }
  for (const auto& shard : step.reads) {
    auto& told = object["reads"].emplace_back(nlohmann::json::array());
    for (const auto& [slice, read, parts] : shard)
      told.push_back({slice, read, parts});
  }
  if (step.drift)
    object["drift"] = *step.drift;
  if (step.round_bytes > 0)
    object["round_bytes"] = step.round_bytes;
  for (const auto& [owner, fragment, behind, is_synchronized, changes] : step.rounds) {
    auto taken = nlohmann::json::array();
    for (const auto& [replica_group, of] : changes)
      taken.push_back({replica_group, of});
    object["rounds"].push_back({owner, fragment, behind, is_synchronized, std::move(taken)});
  }
  add_loss_scale(object, step);
  return object.dump();
}

std::string to_json(const EpochRecord& epoch) {
  return OrderedJson{{"epoch", epoch.epoch},
                     {"step", epoch.step ? OrderedJson(*epoch.step) : OrderedJson(nullptr)},
                     {"time", utc_milliseconds(epoch.time)},
                     {"train_loss", epoch.train_loss},
                     {"train_accuracy", number_or_null(epoch.train_accuracy)},
                     {"test_loss", number_or_null(epoch.test_loss)},
                     {"test_accuracy", number_or_null(epoch.test_accuracy)},
                     {"seconds", epoch.seconds},
                     {"test_seconds", number_or_null(epoch.test_seconds)}}
      .dump();
}

std::optional<EpochRecord> parse_epoch(std::string_view json) {
  const auto object = parse_json<OrderedJson>(json).value_or(nullptr);
  if (!object.is_object() || !object.contains("epoch"))
    return std::nullopt;
  return EpochRecord{.epoch = integer_at<std::int64_t>(object, "epoch"),
                     .step = optional_integer_at(object, "step"),
                     .time = moment_at(object, "time"),
                     .train_loss = number_at(object, "train_loss"),
                     .train_accuracy = optional_number_at(object, "train_accuracy"),
                     .test_loss = optional_number_at(object, "test_loss"),
                     .test_accuracy = optional_number_at(object, "test_accuracy"),
                     .seconds = number_at(object, "seconds"),
                     .test_seconds = optional_number_at(object, "test_seconds")};
}

} // namespace troupe::metrics
