#include "app/commands.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdlib>

namespace troupe::app {

namespace {

std::optional<std::string> own_variable(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value != nullptr ? std::optional<std::string>{value} : std::nullopt;
}

using StatedValues = std::map<std::string, StatedValue>;

/// Returns the path by which a key's endpoint is stated: that of the field, if it has fields.
std::string path_of_endpoint(const std::string& key) {
  return key == "cluster.listen" ? key + ".address" : key;
}

/// Returns the endpoint that the file or --set gives for a key; empty: none.
std::optional<Endpoint> own_endpoint(const StatedValues& values, const std::string& key) {
  const auto found = values.find(path_of_endpoint(key));
  if (found == values.end())
    return std::nullopt;
  const auto& text = found->second.text;
  return parse_endpoint(text.starts_with('"') ? text.substr(1, text.size() - 2) : text);
}

tl::unexpected<Error> unfit(const StatedValues& values, const std::string& key,
                            const std::string& why, const char* allowed) {
  const auto& [text, from] = values.at(path_of_endpoint(key));
  return fail(Errc::invalid_input, "{}: {}: {} {}; allowed: {}", from, key, echoed(text), why,
              allowed);
}

/// Checks keys that are shared because every process reads the same file.
Status check_shared(const StatedValues& values, const LaunchedProcess& process) {
  const auto listen = own_endpoint(values, "cluster.listen");
  if (listen && process.size > 1 && listen->port == 0)
    return unfit(values, "cluster.listen",
                 "takes any free port, which the other processes cannot know",
                 "a port, or leave it out: --launcher chooses one");
  if (listen && is_loopback(*listen) && !is_loopback(process.leader))
    return unfit(values, "cluster.listen",
                 fmt::format("is on loopback, but the leader is on {}", process.leader.host),
                 "0.0.0.0:PORT, or leave it out: --launcher sets it");
  for (const auto* key : {"cluster.listen", "metrics.listen"})
    if (const auto own = own_endpoint(values, key);
        own && own->port != 0 && !process.is_alone_here())
      return unfit(values, key,
                   fmt::format("is one port, but this host runs {} processes", process.local_size),
                   "leave it out: --launcher chooses one for each");
  return {};
}

} // namespace

CLI::Option* add_launcher_option(CLI::App& command, std::string& name) {
  auto names = launcher_names();
  names.emplace_back("none");
  return command
      .add_option_function<std::string>(
          "--launcher",
          [&name](const std::string& given) { name = given == "none" ? std::string{} : given; },
          "The launcher that started this process, whose environment variables give the process's "
          "part in the job")
      ->check(CLI::IsMember(names))
      ->default_str("none");
}

Result<LaunchedProcess> find_part(const std::string& launcher, const ConfigArguments& arguments,
                                  const Catalogue& catalogue) {
  const auto values = stated_values(arguments.path, arguments.overrides, catalogue);
  const auto listen = own_endpoint(values, "cluster.listen");
  TROUPE_TRY(auto process, read_launcher(launcher, own_variable,
                                         listen ? std::optional{listen->port} : std::nullopt));
  TROUPE_TRY(check_shared(values, process));
  return process;
}

Status show_own_gpu(const LaunchedProcess& process) {
  constexpr auto variable = "CUDA_VISIBLE_DEVICES";
  TROUPE_TRY(const auto gpu, own_gpu(process, own_variable(variable)));
  if (gpu)
    ::setenv(variable, gpu->c_str(), 1);
  return {};
}

} // namespace troupe::app
