// `troupe train` and `troupe node`: run the same node runtime, in the foreground or as a daemon.
#include "actors/node_runtime.hpp"
#include "app/add_command.hpp"
#include "app/command_line.hpp"
#include "app/profile_text.hpp"
#include "app/signals.hpp"
#include "core/fail.hpp"
#include "core/threads.hpp"
#include "core/units.hpp"
#include "training/platforms/platforms.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace troupe::app {

namespace {

struct TrainArguments {
  ConfigArguments config;
  actors::RunOptions options;
  std::string log_format = "plain";
  std::vector<std::string> join; ///< HOST:PORT of other daemons
  std::string launcher;          ///< empty: none
  bool profile = false, profile_shapes = false;
  std::string profile_format = "text";
  const CLI::App* command = nullptr;
};

/// Notifies the service manager of a daemon's state (systemd's sd_notify protocol, without its
/// library). `state`: "READY=1", "STOPPING=1". Does nothing if no manager listens ($NOTIFY_SOCKET).
void notify_service_manager(std::string_view state) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address = {};
  if (path == nullptr || *path == '\0' || std::strlen(path) >= sizeof address.sun_path)
    return;
  address.sun_family = AF_UNIX;
  const auto length = std::strlen(path);
  std::memcpy(address.sun_path, path, length);
  if (path[0] == '@') // an abstract socket
    address.sun_path[0] = '\0';
  const int handle = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (handle < 0)
    return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  sendto(handle, state.data(), state.size(), MSG_NOSIGNAL,
         reinterpret_cast<const sockaddr*>(&address), size);
  close(handle);
}

void say_ready() {
  std::fputs("ready\n", stdout); // a failed write is reported at the end
  std::fflush(stdout);
  notify_service_manager("READY=1");
}

/// Prints the checkpoint of a stopped run and the command to resume.
void say_how_to_go_on(const metrics::RunSummary& summary, const Config& config) {
  if (summary.checkpoint.empty())
    return report_error("stopped; no checkpoint was written (see checkpoint.every)");
  report_error("stopped; checkpoint: " + summary.checkpoint);
  auto words = own_command_line();
  if (config.checkpoint.resume.kind != ResumeConfig::Kind::automatic)
    words.insert(words.end(), {"--set", "checkpoint.resume=auto"});
  report_error("to resume: " + as_shell_command(words));
}

/// A daemon that was asked to stop exits with success. `train` in the foreground exits with 128 +
/// the signal, as shells expect of a program ended early.
int exit_code(const actors::RunEnd& end, bool daemon, int signal) {
  if (end.status == "failed")
    return end.failure ? end.failure->exit_code() : run_failed;
  return end.status == "stopped" && !daemon && signal != 0 ? signalled + signal : success;
}

/// On failure reports the problems on stderr and returns the exit code.
tl::expected<Config, int> config_or_report(const TrainArguments& arguments,
                                           const Catalogue& catalogue) {
  std::vector<GivenValue> given;
  if (!arguments.launcher.empty()) {
    const auto process = find_part(arguments.launcher, arguments.config, catalogue);
    if (!process)
      return tl::unexpected{report_error(process.error())};
    if (const auto shown = show_own_gpu(*process); !shown)
      return tl::unexpected{report_error(shown.error())};
    given = process->values;
  }
  // A witness needs none of the job's devices.
  const auto machine =
      arguments.options.witness ? Capabilities::all() : training::machine_capabilities();
  auto config = load_or_report(arguments.config, machine, catalogue, given);
  if (!config)
    return tl::unexpected{int{wrong_input}};
  return *std::move(config);
}

/// Returns an upper bound of the threads that a run starts besides its caller: each worker's thread
/// team and streams, the loaders, and those of the process (CAF's scheduler, detached actors,
/// servers).
int threads_of_run(const Config& config) {
  constexpr int streams = 5, of_process = 20;
  const auto replica_group = training::threads_per_worker(config.devices);
  const auto of_worker = (config.parallel.offloads() ? 2 : 1) * replica_group + streams;
  return static_cast<int>(config.devices.count * of_worker + config.data.loader_threads) +
         of_process;
}

Status profile(const TrainArguments& arguments, const Config& config) {
  TROUPE_TRY(const auto profile,
             training::profile_step(config, {.by_shape = arguments.profile_shapes,
                                             .say = [](const auto& line) { report_error(line); }}));
  fmt::print("{}",
             arguments.profile_format == "json" ? profile_json(profile) : profile_text(profile));
  return {};
}

int train(const TrainArguments& arguments, const Catalogue& catalogue) {
  auto config = config_or_report(arguments, catalogue);
  if (!config)
    return config.error();
  if (!arguments.options.daemon && config->cluster.min_nodes > 1)
    return report_wrong_input(
        fmt::format("cluster.nodes.min is {}: start the job with `troupe node` on that many hosts",
                    config->cluster.min_nodes));
  config->cluster.join.insert(config->cluster.join.end(), arguments.join.begin(),
                              arguments.join.end());
  if (arguments.options.witness && config->cluster.join.empty())
    return report_wrong_input(
        "--witness needs the address of a node of the job: --join HOST:PORT, or cluster.join");
  if (const auto enough = expect_threads(threads_of_run(*config)); !enough)
    return report_error(enough.error());
  if (arguments.profile)
    return exit_code_of(profile(arguments, *config));
  StopSignals signals{config->cluster.timeouts.drain};
  auto options = arguments.options;
  options.verbose = is_verbose(*arguments.command);
  options.log_format =
      arguments.log_format == "json" ? metrics::LogFormat::json : metrics::LogFormat::text;
  options.version = TROUPE_VERSION;
  options.config_text = to_yaml(*config, catalogue);
  options.stays = arguments.launcher.empty();
  options.on_waiting = [](const std::string& why) { report_error(why); };
  options.stop_asked = [&signals] { return signals.received() != 0; };
  options.on_started = [&](std::function<void()> drain) {
    if (options.daemon)
      say_ready();
    signals.on_stop([drain = std::move(drain), daemon = options.daemon] {
      if (daemon)
        notify_service_manager("STOPPING=1");
      drain();
    });
  };
  options.on_ended = [&signals] { signals.drained(); };
  std::atomic<int> lost = 0;
  options.on_output_lost = [&lost](int error) { lost = error; };
  const auto summary = actors::run_training(*config, options);
  signals.on_stop({}); // there is nothing left to drain
  if (!summary)
    return report_error(summary.error());
  const int code = exit_code(*summary, options.daemon, signals.received());
  if (code > signalled)
    say_how_to_go_on(*summary, *config);
  if (lost)
    report_error(fmt::format("standard output: {}", std::strerror(lost)));
  return lost && code == success ? run_failed : code;
}

void add_profile_options(CLI::App& command, TrainArguments& arguments) {
  auto* const profile = command.add_flag(
      "--profile", arguments.profile,
      "Train 3 steps, then measure 5: print the time of each op, its rate, and the "
      "share of the limit that binds it; no file is written");
  command
      .add_flag("--shapes", arguments.profile_shapes, "With --profile: a row for each op and shape")
      ->needs(profile);
  add_choice(command, "--format", {"text", "json"}, arguments.profile_format,
             "With --profile: text or json")
      ->needs(profile);
}

void add_training_command(CLI::App& app, Action& action, const char* name, const char* help,
                          bool daemon) {
  auto [command, arguments] = add_command<TrainArguments>(app, action, name, help, train);
  arguments.command = &command;
  arguments.options.daemon = daemon;
  add_config_arguments(command, arguments.config);
  add_verbose_flag(command, "Also log phases, checkpoints, and the resources of each worker");
  command
      .add_flag("--quiet", arguments.options.quiet, "Show warnings, errors and the summary only")
      ->excludes("--verbose");
  add_choice(command, "--log-format", {"plain", "json"}, arguments.log_format, "plain or json");
  add_value(command, "--trace", "FILE", arguments.options.trace,
            "Write a timeline of streams and actors, for ui.perfetto.dev");
  if (!daemon)
    return add_profile_options(command, arguments);
  command.add_flag(
      "--witness", arguments.options.witness,
      "Train nothing, but vote on membership: of two nodes and a witness, any one may be lost");
  auto* launcher = add_launcher_option(command, arguments.launcher);
  auto* join = add_value(command, "--join", "HOST:PORT", arguments.join,
                         "Join the job of the daemon at this address");
  join->check([](const std::string& text) {
    return parse_endpoint(text) ? std::string{} : text + " is not HOST:PORT";
  });
  launcher->excludes(join);
}

} // namespace

void add_train_commands(CLI::App& app, Action& action) {
  add_training_command(app, action, "train", "Train on this host, in the foreground", false);
  add_training_command(app, action, "node",
                       "Run the daemon: prints \"ready\" once it is ready, drains on SIGTERM",
                       true);
}

} // namespace troupe::app
