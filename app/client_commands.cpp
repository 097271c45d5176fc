// `troupe status` and `troupe stop`: send a request to the daemon that listens at HOST:PORT.
#include "actors/node/client.hpp"
#include "actors/node/waits.hpp"
#include "app/add_command.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "metrics/json_values.hpp"
#include "metrics/number_format.hpp"

#include <fmt/format.h>

#include <iterator>

namespace troupe::app {

namespace {

using Json = metrics::OrderedJson;
using metrics::counted;
using metrics::format_count;
using metrics::format_loss;
using metrics::format_rate;

struct ClientArguments {
  std::string daemon, config, timeout = "5s";
  TlsConfig tls;
  bool json = false, node = false, wait = false;
};

/// On failure reports the problem on stderr and returns empty.
std::optional<actors::ClientOptions> options_or_report(const ClientArguments& arguments,
                                                       const Catalogue& catalogue) {
  const auto daemon = parse_endpoint(arguments.daemon);
  const auto timeout = parse_duration(arguments.timeout);
  auto tls = arguments.tls;
  if (!arguments.config.empty()) {
    const auto config = load_or_report({arguments.config, {}}, Capabilities::all(), catalogue);
    if (!config)
      return std::nullopt;
    tls = config->cluster.tls;
  }
  if (!daemon)
    report_error(
        fmt::format("\"{}\" is not an address; allowed: HOST:PORT", echoed(arguments.daemon)));
  const bool waits = timeout && timeout->count() > 0;
  if (!waits)
    report_error(fmt::format("--timeout \"{}\" is not a duration above 0; allowed: 500ms, 5s, 1min",
                             echoed(arguments.timeout)));
  if (!daemon || !waits)
    return std::nullopt;
  return actors::ClientOptions{*daemon, std::move(tls), TROUPE_VERSION, *timeout};
}

/// Null if it is not waiting.
Json wait_to_json(const actors::WaitStatus& wait) {
  if (wait.what.empty())
    return nullptr;
  const auto limit = static_cast<double>(wait.limit_ms) / 1000;
  return {{"for", wait.what},
          {"seconds", static_cast<double>(wait.waited_ms) / 1000},
          {"limit_seconds", limit > 0 ? Json(limit) : Json()}};
}

Json to_json(const actors::JobStatus& status) {
  Json json = {{"name", status.name},
               {"phase", status.phase},
               {"generation", status.generation},
               {"step", status.step},
               {"total_steps", status.total_steps},
               {"epoch", status.epoch},
               {"world_size", status.world_size},
               {"loss", status.loss},
               {"samples_per_second", status.samples_per_second},
               {"tokens_per_second", metrics::number_or_null(status.tokens_per_second)},
               {"error", metrics::text_or_null(status.error)},
               {"nodes", Json::array()},
               {"wait", wait_to_json(status.wait)}};
  for (const auto& node : status.nodes)
    json["nodes"].push_back({{"name", node.name},
                             {"address", node.address},
                             {"metrics", node.page},
                             {"version", node.version},
                             {"state", node.state},
                             {"devices", node.devices},
                             {"ranks", node.ranks}});
  return json;
}

/// "waiting for Prometheus to scrape the final metrics (2s of 1min)"; without a limit only the
/// first part.
std::string text_of(const actors::WaitStatus& wait) {
  return wait.limit_ms > 0 ? fmt::format("{} ({})", wait.what, actors::how_long(wait)) : wait.what;
}

void print_job(const actors::JobStatus& status) {
  fmt::print("{}: {}, epoch {}, step {} of {}, loss {}, {} samples/s", status.name, status.phase,
             status.epoch + 1, format_count(status.step), format_count(status.total_steps),
             format_loss(status.loss), format_rate(status.samples_per_second));
  if (status.tokens_per_second)
    fmt::print(", {} tokens/s", format_rate(*status.tokens_per_second));
  fmt::print("\n");
  if (!status.error.empty())
    fmt::print("error: {}\n", status.error);
  if (status.phase == "ended")
    fmt::print("the job has ended; `troupe stop` ends this daemon\n");
  if (!status.wait.what.empty())
    fmt::print("{}\n", text_of(status.wait));
  fmt::print("generation {}, {}, {}; {} leads\n\n", status.generation,
             counted(std::ssize(status.nodes), "node"), counted(status.world_size, "worker"),
             status.nodes.front().address);
}

void print_nodes(const actors::JobStatus& status) {
  constexpr auto row = "{:<16} {:<22} {:<8} {:<8} {:<5} {}\n";
  fmt::print(row, "node", "address", "state", "version", "rank", "device");
  for (const auto& node : status.nodes)
    for (std::size_t i = 0; i < node.ranks.size() && i < node.devices.size(); ++i) {
      const bool first = i == 0;
      fmt::print(row, first ? node.name : "", first ? node.address : "", first ? node.state : "",
                 first ? node.version : "", node.ranks[i], node.devices[i]);
    }
}

/// "ended, waiting for Prometheus to scrape the final metrics (2s of 1min)".
std::string phase_and_wait(const actors::JobStatus& status) {
  const auto& wait = status.wait;
  if (wait.what.empty())
    return status.phase;
  return wait.what == status.phase ? text_of(wait)
                                   : fmt::format("{}, {}", status.phase, text_of(wait));
}

void print_text(const actors::JobStatus& status) {
  if (status.nodes.empty()) {
    fmt::print("{}: {}\n", status.name, phase_and_wait(status));
    if (!status.error.empty())
      fmt::print("error: {}\n", status.error);
    return;
  }
  print_job(status);
  print_nodes(status);
}

Result<int> show_status(const ClientArguments& arguments, const Catalogue& catalogue) {
  const auto options = options_or_report(arguments, catalogue);
  if (!options)
    return wrong_input;
  TROUPE_TRY(const auto status, actors::ask_status(*options));
  if (arguments.json)
    fmt::print("{}\n", to_json(status).dump(2));
  else
    print_text(status);
  return success;
}

/// Describes what a daemon with this status does after `troupe stop`.
std::string what_follows(const actors::JobStatus& before, bool leaves_others) {
  if (before.phase == "ended")
    return before.wait.what.empty()
               ? "stops; its job has ended already"
               : fmt::format("stops; its job has ended already, and it was {}", before.wait.what);
  if (before.nodes.empty() && !before.phase.empty())
    return fmt::format("stops; it was {}", before.phase);
  return leaves_others ? "leaves after its step; the others continue"
                       : "finishes its steps, saves, and stops";
}

Result<int> stop(const ClientArguments& arguments, const Catalogue& catalogue) {
  const auto options = options_or_report(arguments, catalogue);
  if (!options)
    return wrong_input;
  const auto reason = arguments.node ? actors::StopReason::node : actors::StopReason::job;
  TROUPE_TRY(const auto before, actors::ask_to_stop(*options, reason, arguments.wait));
  fmt::print("{} {}\n", arguments.daemon,
             arguments.wait ? "has stopped" : what_follows(before, arguments.node));
  return success;
}

std::pair<CLI::App&, ClientArguments&>
add_client_command(CLI::App& app, Action& action, const char* name, const char* help,
                   Result<int> (*run)(const ClientArguments&, const Catalogue&)) {
  const auto added = add_command<ClientArguments>(app, action, name, help, run);
  auto& [command, arguments] = added;
  add_value(command, "daemon", "HOST:PORT", arguments.daemon,
            "Address on which the daemon listens (cluster.listen)")
      ->required();
  auto* config = add_value(command, "--config", "CONFIG", arguments.config,
                           "Use the certificates in cluster.tls of this file");
  auto* certificate = add_value(command, "--tls-cert", "FILE", arguments.tls.certificate,
                                "Client certificate (PEM)");
  auto* key = add_value(command, "--tls-key", "FILE", arguments.tls.key,
                        "Private key of the client certificate (PEM)");
  auto* ca = add_value(command, "--tls-ca", "FILE", arguments.tls.ca,
                       "Certificate of the trusted authority (PEM)");
  certificate->needs(key, ca)->excludes(config);
  key->needs(certificate);
  ca->needs(certificate);
  add_value(command, "--tls-name", "NAME", arguments.tls.names,
            "Accept the daemon only if its certificate is for this name")
      ->needs(certificate)
      ->allow_extra_args(false)
      ->check([](const std::string& given) {
        return given.empty() ? std::string{"the name is empty"} : std::string{};
      });
  add_value(command, "--timeout", "TIME", arguments.timeout, "Time limit of the whole request")
      ->capture_default_str();
  return added;
}

} // namespace

void add_client_commands(CLI::App& app, Action& action) {
  auto [status, asked] = add_client_command(
      app, action, "status", "Print the progress and the nodes of a daemon's job", show_status);
  status.add_flag("--json", asked.json, "Print JSON");
  auto [stopping, told] = add_client_command(
      app, action, "stop",
      "Drain a daemon's job: finish the steps in progress, write a checkpoint, exit", stop);
  stopping.add_flag("--node", told.node, "Stop only this node; the others continue without it");
  stopping.add_flag("--wait", told.wait, "Return after the daemon has exited");
}

} // namespace troupe::app
