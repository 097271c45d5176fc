/// A real Prometheus that scrapes an endpoint while a test runs.
#pragma once

#include "core/net/socket.hpp"
#include "tests/metrics/program.hpp"
#include "tests/support/http_client.hpp"
#include "tests/support/scratch_folder.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cctype>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace troupe::testing {

class PrometheusServer {
public:
  /// Returns a scrape config for HOST:PORT with /metrics, or for HOST:PORT with /sd.
  static std::string target(const std::string& address) {
    return "static_configs: [{targets: ['" + address + "']}]";
  }
  static std::string discovery(const std::string& address) {
    return "http_sd_configs: [{url: 'http://" + address + "/sd', refresh_interval: 200ms}]";
  }

  /// `program`: path of prometheus, which scrapes and evaluates rules five times a second. `rules`:
  /// text of a rule file.
  PrometheusServer(const std::string& program, const std::string& targets,
                   const std::string& rules = "groups: []\n") {
    // Released at once, for Prometheus to listen on.
    port_ = net::listen_on({"127.0.0.1", 0}).value().port;
    write_bytes(folder_ / "prometheus.yml",
                "global: {scrape_interval: 200ms, scrape_timeout: 200ms, evaluation_interval: "
                "200ms}\n"
                "rule_files: [rules.yml]\n"
                "scrape_configs:\n"
                "  - job_name: troupe\n"
                "    " +
                    targets + "\n");
    write_bytes(folder_ / "rules.yml", rules);
    program_ = std::make_unique<Program>(
        std::vector<std::string>{program, "--config.file=" + (folder_ / "prometheus.yml").string(),
                                 "--storage.tsdb.path=" + (folder_ / "data").string(),
                                 "--web.listen-address=127.0.0.1:" + std::to_string(port_)},
        (folder_ / "log").string());
  }

  /// Waits until the query finds a series. Returns the value of the first.
  std::optional<double> wait_for(const std::string& query, std::chrono::seconds limit) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (std::chrono::steady_clock::now() < end && program_->running()) {
      if (const auto value = ask(query))
        return value;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return std::nullopt;
  }

  /// Returns whether an alert with these labels ({name="value"}) fires, or has fired, within
  /// `limit`.
  bool has_fired(const std::string& alert, const std::string& labels, std::chrono::seconds limit) {
    return wait_for("last_over_time(ALERTS{alertname=\"" + alert + "\",alertstate=\"firing\"," +
                        labels + "}[1h])",
                    limit)
        .has_value();
  }
  /// Returns whether an alert stops firing within `limit`.
  bool clears(const std::string& alert, std::chrono::seconds limit) {
    return wait_for("absent(ALERTS{alertname=\"" + alert + "\",alertstate=\"firing\"})", limit)
        .has_value();
  }

  /// Returns whether an alert with these labels ({name="value"}) fires within `limit`.
  bool fires(const std::string& alert, const std::string& labels, std::chrono::seconds limit) {
    return wait_for("ALERTS{alertname=\"" + alert + "\",alertstate=\"firing\"," + labels + "}",
                    limit)
        .has_value();
  }

  std::string log() const { return read_bytes(folder_ / "log"); }

  /// Returns the current value of the first series that the query finds.
  std::optional<double> ask(const std::string& query) const try {
    const auto found = series(query);
    if (found.empty())
      return std::nullopt;
    return std::stod(found.at(0).at("value").at(1).get<std::string>());
  } catch (const std::exception&) { // Prometheus is not up yet
    return std::nullopt;
  }

  /// Returns the current results of a query: a list of {"metric": labels, "value": [time, text]}.
  /// Throws when the query is invalid or Prometheus is not up yet.
  nlohmann::json series(const std::string& query) const {
    std::string escaped;
    for (const unsigned char c : query)
      escaped += std::isalnum(c) ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
    return api("query?query=" + escaped).at("result");
  }

  /// Returns the data of an answer of Prometheus's HTTP API.
  nlohmann::json api(const std::string& path) const {
    const auto json = nlohmann::json::parse(body_of(http(port_, "/api/v1/" + path)));
    return json.at("data");
  }

private:
  /// Returns the JSON object, also from a chunked body.
  static std::string body_of(const HttpReply& reply) {
    return reply.body.substr(reply.body.find('{'),
                             reply.body.rfind('}') + 1 - reply.body.find('{'));
  }

  ScratchFolder folder_;
  std::uint16_t port_ = 0;
  std::unique_ptr<Program> program_;
};

} // namespace troupe::testing
