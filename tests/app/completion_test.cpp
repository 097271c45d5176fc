// Tests `troupe completion` and `troupe man`: completions in shells, and manual pages.
#include "app/command_tree.hpp"
#include "core/config/config.hpp"
#include "core/config/schema.hpp"
#include "nn/config_check.hpp"
#include "tests/app/program.hpp"
#include "tests/support/source_tree.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

using namespace troupe;
using namespace troupe::testing;

namespace {

using Words = std::vector<std::string>;

Words words_per_line(const std::string& text) {
  Words lines;
  std::istringstream stream{text};
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  return lines;
}

bool has(const Words& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

bool is_installed(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

/// Runs a shell with a script on stdin, in a folder with the program in the PATH.
Words shell(const std::string& command, const std::string& script) {
  const ScratchFolder folder;
  const auto file = folder / "script", out = folder / "out";
  write_bytes(file, script);
  const auto path = std::filesystem::path{TROUPE_PROGRAM}.parent_path().string();
  const auto line = fmt::format("cd '{}' && PATH='{}':$PATH {} {} >{} 2>&1", source_tree().string(),
                                path, command, file.string(), out.string());
  const int status = std::system(line.c_str());
  INFO(read_bytes(out));
  CHECK(status == 0);
  return words_per_line(read_bytes(out));
}

/// Returns bash's completions when TAB is pressed after this text.
Words bash(const std::string& typed) {
  return shell("bash --norc", fmt::format("source <(troupe completion bash)\n"
                                          "COMP_LINE='{}'; COMP_POINT=${{#COMP_LINE}}; _troupe\n"
                                          "[ ${{#COMPREPLY[@]}} = 0 ] || printf '%s\\n' "
                                          "\"${{COMPREPLY[@]}}\"",
                                          typed));
}

/// Returns all commands as lists of words, including nested ones.
std::vector<Words> all_commands(const Words& words = {}) {
  std::string line;
  for (const auto& word : words)
    line += word + " ";
  const auto help = troupe_program(line + "--help").out;
  std::vector<Words> all = {words};
  const auto listed = help.find("ubcommands:");
  if (listed == std::string::npos)
    return all;
  const std::regex name{"^  ([a-z]+) "};
  for (const auto& entry : words_per_line(help.substr(listed)))
    if (std::smatch match; std::regex_search(entry, match, name)) {
      auto inside = words;
      inside.push_back(match[1]);
      for (auto& command : all_commands(inside))
        all.push_back(std::move(command));
    }
  return all;
}

std::set<std::string> options_of_help(const std::string& help) {
  std::set<std::string> names;
  const std::regex option{"(^  |,)(--?[a-z][a-z-]*)", std::regex::multiline};
  for (std::sregex_iterator match{help.begin(), help.end(), option}, end; match != end; ++match)
    names.insert((*match)[2]);
  return names;
}

std::string joined(const Words& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

/// Returns a page as a reader sees it, in one line.
std::string page_text(const std::string& page) {
  auto text = troupe_program("man " + page).out;
  for (const auto& [from, to] : {std::pair{"\\-", "-"}, {"\\fB", ""}, {"\\fR", ""}, {"\\fI", ""}})
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at))
      text.replace(at, std::string_view{from}.size(), to);
  return text;
}

} // namespace

TEST_CASE("every command and option in the help is completed and is in the manual") {
  const auto commands = all_commands();
  CHECK(commands.size() > 20);
  for (const auto& words : commands) {
    const auto line = joined(words);
    const auto page = page_text(words.empty() ? "" : words.front());
    CAPTURE(line);
    CHECK(page.find(words.empty() ? "troupe" : "troupe " + line) != std::string::npos);
    const auto offered = words_per_line(troupe_program("__complete " + line + " -").out);
    const auto options = options_of_help(troupe_program(line + " --help").out);
    CHECK(options.size() >= 2);
    for (const auto& option : options) {
      CAPTURE(option);
      CHECK(std::ranges::any_of(
          offered, [&](const auto& candidate) { return candidate.starts_with(option + "\t"); }));
      CHECK(page.find(option) != std::string::npos);
    }
    if (!words.empty()) {
      const Words before{words.begin(), words.end() - 1};
      const auto names = troupe_program(fmt::format("__complete {} ''", joined(before))).out;
      CHECK(("\n" + names).find("\n" + words.back() + "\t") != std::string::npos);
    }
  }
}

TEST_CASE("bash completes commands, options, values, files and keys of the config") {
  CHECK(bash("troupe conf") == Words{"config"});
  CHECK(has(bash("troupe "), "predict"));
  CHECK(bash("troupe config sh") == Words{"show"});
  CHECK(bash("troupe train --log-format ") == Words{"plain", "json"});
  CHECK(bash("troupe train --log-format=j") == Words{"json"});
  CHECK(bash("troupe config check configs/debug.y") == Words{"configs/debug.yaml"});
  CHECK_FALSE(has(bash("troupe train CM"), "CMakeLists.txt")); // not a config
  CHECK(has(bash("troupe train x --trace CM"), "CMakeLists.txt"));
  CHECK(bash("troupe train x --set train.epo") == Words{"train.epochs="});
  CHECK(bash("troupe train x --set train.optimizer.name=ad") == Words{"adam", "adamw"});
  CHECK(bash("troupe train x --set run.deterministic=") == Words{"true", "false"});
  CHECK(bash("troupe train x --set=run.deter") == Words{"run.deterministic="});
  CHECK(bash("troupe compare x --strategies ddp,fs") == Words{"ddp,fsdp"});
  CHECK(has(bash("troupe compare x --output conf"), "configs"));
  CHECK(bash("troupe help comp") == Words{"compare", "completion"});
  CHECK(bash("troupe completion ") == Words{"bash", "zsh", "fish"});
  CHECK(bash("troupe nonsense ").size() > 0);
}

TEST_CASE("a run's folder is completed where a model is expected") {
  const ScratchFolder folder;
  std::filesystem::create_directories(folder / "runs/first");
  write_bytes(folder / "runs/notes.txt", "");
  const auto offered = bash("troupe predict " + (folder / "runs/").string());
  CHECK(offered == Words{(folder / "runs/first").string()});
}

TEST_CASE("every key and field of the config is completed, with its allowed words") {
  const auto catalogue = nn::model_catalogue();
  auto config = default_config(catalogue);
  const auto keys = words_per_line(troupe_program("__complete train x --set ''").out);
  for (const auto& key : with_fields(config_keys(config, catalogue))) {
    if (key.hidden)
      continue;
    CAPTURE(key.path);
    CHECK(has(keys, key.path + "=\t" + key.help));
    const auto values =
        words_per_line(troupe_program(fmt::format("__complete train x --set {}=", key.path)).out);
    for (const auto& choice : choices_of(key))
      CHECK(has(values, fmt::format("{}={}\t", key.path, choice)));
  }
}

TEST_CASE("docs/config.md lists every key") {
  const auto page = page_text("troupe.yaml");
  const auto catalogue = nn::model_catalogue();
  auto config = default_config(catalogue);
  for (const auto& key : config_keys(config, catalogue)) {
    CAPTURE(key.path);
    CHECK((page.find("\n" + key.path + "\n") != std::string::npos) != key.hidden);
  }
}

TEST_CASE("man prints no warning about the manual pages") {
  const ScratchFolder folder;
  REQUIRE(troupe_program("man --folder " + folder.path().string()).code == 0);
  int pages = 0;
  for (const auto& file : std::filesystem::directory_iterator{folder.path()}) {
    ++pages;
    const auto name = file.path().string();
    CAPTURE(name);
    if (is_installed("groff"))
      CHECK(shell("bash", "groff -man -ww -Tutf8 -z " + name).empty());
    if (is_installed("mandoc"))
      CHECK(shell("bash", "mandoc -T lint -W error " + name).empty());
  }
  CHECK(pages > 15);
  CHECK(troupe_program("man trian").err ==
        "troupe: invalid input: unknown page \"trian\"; did you mean \"train\"?\n");
}

TEST_CASE("roff requests in manual pages are at the start of a line") {
  const ScratchFolder folder;
  REQUIRE(troupe_program("man --folder " + folder.path().string()).code == 0);
  const std::regex request{R"([^\n]\.(SH|SS|PP|TP|BR)\b)"};
  for (const auto& file : std::filesystem::directory_iterator{folder.path()}) {
    const auto text = read_bytes(file.path());
    std::smatch found;
    CAPTURE(file.path());
    CHECK_FALSE(std::regex_search(text, found, request));
    CHECK(text.find("\n.SH SEE ALSO\n") != std::string::npos);
  }
}

TEST_CASE("zsh accepts the completion script") {
  if (!is_installed("zsh"))
    SKIP("zsh is not installed");
  CHECK(shell("zsh -f", "zsh -n <(troupe completion zsh) && print fine") == Words{"fine"});
}

TEST_CASE("fish completes commands, values and keys") {
  if (!is_installed("fish"))
    SKIP("fish is not installed");
  const auto fish = [](const std::string& typed) {
    return shell("fish --no-config",
                 fmt::format("troupe completion fish | source\ncomplete -C '{}'", typed));
  };
  CHECK(fish("troupe train --log-format ") == Words{"json", "plain"});
  CHECK(fish("troupe conf").size() == 1);
  CHECK(fish("troupe train x --set train.optimizer.name=ad") ==
        Words{"train.optimizer.name=adam", "train.optimizer.name=adamw"});
}
