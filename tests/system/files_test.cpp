// Compares docs/files.md with the files of real runs.
#include "tests/support/files_page.hpp"
#include "tests/system/daemons.hpp"
#include "tests/system/language_runs.hpp"

#include <catch2/catch_test_macros.hpp>

#include <fmt/format.h>

#include <map>
#include <set>

using namespace troupe;
using namespace troupe::testing;
using Json = nlohmann::json;

namespace {

bool is_of(const Json& value, const std::string& type) {
  if (type.ends_with(" or null"))
    return value.is_null() || is_of(value, type.substr(0, type.size() - 8));
  return type == "whole number"    ? value.is_number_integer()
         : type == "number"        ? value.is_number()
         : type == "text"          ? value.is_string()
         : type == "true or false" ? value.is_boolean()
         : type == "list"          ? value.is_array()
                                   : type == "object" && value.is_object();
}

/// Checks each field against the table, and records it as seen.
void look_at(const Json& object, const std::string& path, const FilesTable& table,
             std::set<std::string>& seen) {
  const bool is_by_kind = table.contains(path + "KIND");
  for (const auto& [key, value] : object.items()) {
    const auto field = fmt::format("{}{}", path, is_by_kind ? "KIND" : key);
    CAPTURE(field, value);
    seen.insert(field);
    const auto row = table.find(field);
    REQUIRE(row != table.end());
    CHECK(is_of(value, row->second));
    if (value.is_object())
      look_at(value, field + ".", table, seen);
    if (value.is_array())
      for (const auto& item : value)
        if (item.is_object())
          look_at(item, field + "[].", table, seen);
  }
}

std::set<std::string> fields_of(const FilesTable& table) {
  std::set<std::string> names;
  for (const auto& [name, type] : table)
    names.insert(name);
  return names;
}

/// Returns the document in the page.
Json document_of(const RunFiles& run) {
  const auto page = read_bytes(run / "report.html");
  const std::string begin = R"(<script type="application/json" id="document">)";
  const auto at = page.find(begin);
  REQUIRE(at != std::string::npos);
  return Json::parse(
      page.substr(at + begin.size(), page.find("</script>", at) - at - begin.size()));
}

} // namespace

TEST_CASE("every field of a run's files is in docs/files.md") {
  const auto tables = tables_of_files_page();
  const Experiment experiment;
  const Settings everything = {
      "precision.mode=amp_fp16", "train.recompute=block",        "run.tensorboard=true",
      "checkpoint.best=loss",    "train.gradient_norm_every=2",  "parallel.strategy=local_sgd",
      "devices.count=2",         "train.schedule.name=constant", "parallel.local_sgd.steps=2"};
  experiment.completed("all", everything + Settings{"train.max_steps=20"});
  const auto all = experiment.completed("all", everything); // the run continues
  const Experiment hopeless({"train.optimizer.lr=1e30"});
  CHECK(hopeless.train("failed").code == 1);

  std::map<std::string, std::set<std::string>> seen;
  const auto dealt = experiment.completed(
      "dealt", {"parallel.strategy=ddp", "devices.count=2", "data.slices=4", "data.balance=speed"});
  const auto apart = experiment.completed(
      "apart", {"parallel.strategy=async", "devices.count=2", "metrics.reads=true"});
  const auto groups =
      experiment.completed("groups", {"parallel.strategy=diloco", "parallel.diloco.steps=2",
                                      "devices.count=2", "metrics.reads=true"});
  const auto texts = on_text("llama-mini", {"train.sample.every=4 steps"});
  const auto written = texts.completed("written");
  for (const auto& run : {all, experiment.completed("plain"), dealt, apart, groups, written,
                          hopeless.run("failed")}) {
    for (const auto& entry : std::filesystem::directory_iterator{run.folder()})
      seen[""].insert(entry.path().filename().string() + (entry.is_directory() ? "/" : ""));
    for (const auto& [file, lines] :
         {std::pair{"events.jsonl", run.events()}, std::pair{"epochs.jsonl", run.epochs()},
          std::pair{"samples.jsonl", run.samples()},
          std::pair{"summary.json", std::vector{run.summary()}}})
      for (const auto& line : lines)
        look_at(line, "", tables.at(file), seen[file]);
    auto document = document_of(run);
    look_at(document.at("run"), "", tables.at("run.json"), seen["run.json"]);
    CHECK(Json::parse(read_bytes(run / "run.json")) == document.at("run"));
    document.at("run") = Json::object();
    for (const auto& epoch : document.at("epochs"))
      look_at(epoch, "", tables.at("epochs.jsonl"), seen["epochs.jsonl"]);
    document.at("epochs") = Json::array();
    for (const auto& sample : document.at("generated"))
      look_at(sample, "", tables.at("samples.jsonl"), seen["samples.jsonl"]);
    document.at("generated") = Json::array();
    look_at(document, "", tables.at("report.html"), seen["report.html"]);
  }
  // Only a live page has a timeline; the tests of metrics cover it.
  for (const auto& field : fields_of(tables.at("report.html")))
    if (field.starts_with("timeline."))
      seen["report.html"].insert(field);
  CHECK(seen.at("") == fields_of(tables.at("")));
  for (const char* file : {"events.jsonl", "epochs.jsonl", "samples.jsonl", "run.json",
                           "summary.json", "report.html"}) {
    CAPTURE(file);
    CHECK(seen.at(file) == fields_of(tables.at(file)));
  }
}

TEST_CASE("every field of a run's recoveries is in docs/files.md") {
  const auto table = tables_of_files_page().at("recoveries.jsonl");
  const Experiment experiment;
  Daemons daemons{experiment, "nodes",
                  for_nodes(2, "ddp") +
                      Settings{"cluster.nodes.min=1", "data.slices=2", "train.epochs=100000"}};
  auto& leader = daemons.lead();
  const auto run = experiment.run("nodes");
  daemons.join();
  REQUIRE(becomes_true([&] { return !run.recoveries().empty(); }));
  CHECK(stop(leader).code == 0);
  std::set<std::string> seen;
  for (const auto& line : run.recoveries())
    look_at(line, "", table, seen);
  CHECK(seen == fields_of(table));
}
