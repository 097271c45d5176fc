#include "core/config/schema.hpp"
#include "core/escape.hpp"
#include "nn/config_check.hpp"
#include "tests/app/program.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace troupe;
using namespace troupe::testing;

namespace {

const std::string configs = "configs/"; // in the source tree, where the program runs

/// A port that is already in use.
class TakenPort {
public:
  TakenPort() : handle_{socket(AF_INET, SOCK_STREAM, 0)} {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (bind(handle_, generic, size) != 0 || listen(handle_, 1) != 0 ||
        getsockname(handle_, generic, &size) != 0)
      throw std::runtime_error("cannot listen");
    number_ = ntohs(address.sin_port);
  }
  ~TakenPort() { close(handle_); }
  TakenPort(const TakenPort&) = delete;
  TakenPort& operator=(const TakenPort&) = delete;

  std::string address() const { return "127.0.0.1:" + std::to_string(number_); }

private:
  int handle_;
  int number_ = 0;
};

} // namespace

TEST_CASE("options --version and --help print to stdout and exit with 0") {
  const auto version = troupe_program(GENERATE("--version", "-V", "version"));
  CHECK(version.code == 0);
  CHECK(version.out.starts_with("troupe 0."));
  CHECK(std::ranges::count(version.out, '\n') == 1);
  const auto help = troupe_program("--help");
  CHECK(help.code == 0);
  CHECK(help.out.find("doctor") != std::string::npos);
}

TEST_CASE("version --verbose also lists libraries and devices") {
  const auto version =
      troupe_program(GENERATE("version -v", "version --verbose", "-v version", "-v"));
  CHECK(version.code == 0);
  CHECK(version.out.starts_with("troupe 0."));
  for (const char* name : {"compiler", "cpu", "oneDNN"})
    CHECK(version.out.find(name) != std::string::npos);
}

TEST_CASE("troupe help prints the same as a command's --help") {
  CHECK(troupe_program("help").out == troupe_program("--help").out);
  const auto help = troupe_program("help config show");
  CHECK(help.code == 0);
  CHECK(help.out == troupe_program("config show --help").out);
  const auto typo = troupe_program("help config shw");
  CHECK(typo.code == 2);
  CHECK(typo.out.empty());
  CHECK(typo.err == "troupe: unknown command \"shw\"; did you mean \"show\"?\n");
}

TEST_CASE("a help flag on an unknown command is still an error") {
  for (const char* words : {"confg --help", "confg -h", "--help confg", "config shw --help",
                            "-V confg", "doctor --cofnig"}) {
    const auto refused = troupe_program(words);
    CAPTURE(words, refused.err);
    CHECK(refused.code == 2);
    CHECK(refused.out.empty());
    CHECK(refused.err.starts_with("troupe: unknown "));
  }
  CHECK(troupe_program("config shw --help").err.find("\"show\"") != std::string::npos);
  CHECK(troupe_program("train --quite").err.find("\"--quiet\"") != std::string::npos);
}

TEST_CASE("a wrong command line exits with 2 and suggests a correction") {
  const auto typo = troupe_program("confg check x");
  CHECK(typo.code == 2);
  CHECK(typo.out.empty());
  CHECK(
      typo.err ==
      "troupe: unknown command \"confg\"; did you mean \"config\"?\nRun with --help for usage.\n");
  CHECK(troupe_program("config shw x")
            .err.starts_with("troupe: unknown command \"shw\"; did you mean \"show\"?\n"));
  CHECK(troupe_program("").code == 2);
  CHECK(troupe_program("config show").code == 2);
  CHECK(troupe_program("config schema --format xml").code == 2);
  CHECK(troupe_program("doctor --cofnig x").code == 2);
}

TEST_CASE("no command echoes more than 200 characters of a word, or control characters") {
  const ScratchFolder folder;
  const auto config = folder / "a.yaml";
  write_bytes(config, "data: {dataset: synthetic}\nmetrics: {listen: \"off\"}\n");
  const auto word = GENERATE(std::string(5000, 'x'), std::string("\x1b[31m\x07"));
  for (const char* const form :
       {"'{word}'", "train '{word}'", "config check '{word}'", "status '{word}'", "stop '{word}'",
        "status 127.0.0.1:1 --timeout '{word}'", "node {config} --join '{word}'",
        "train {config} --log-format '{word}'", "train {config} --trace '/{word}/a'",
        "train {config} --set '{word}=1'", "train {config} --set 'train.epochs={word}'",
        "train {config} --set 'checkpoint.resume={word}'",
        "train {config} --set 'model.pretrained={word}'",
        "train {config} --set 'run.output=/proc/{word}'",
        "data check {config} --set data.dataset=image_folder --set 'data.root={word}'"}) {
    const auto arguments = fmt::format(fmt::runtime(form), fmt::arg("config", config.string()),
                                       fmt::arg("word", word));
    const auto outcome = troupe_program(arguments);
    CAPTURE(escaped(arguments.substr(0, 60)), escaped(outcome.err.substr(0, 400)));
    CHECK((outcome.code == 1 || outcome.code == 2));
    CHECK(outcome.err.find(std::string(201, 'x')) == std::string::npos);
    CHECK(outcome.err.find_first_of("\x1b\x07") == std::string::npos);
    CHECK(outcome.err.size() < 1500);
  }
}

TEST_CASE("an unwritable stderr does not change the exit code") {
  const int status = std::system(troupe_command("config check nowhere.yaml 2>/dev/full").c_str());
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 2);
}

TEST_CASE("config check takes several files and names the wrong ones") {
  const auto good =
      troupe_program("config check " + configs + "debug.yaml " + configs + "demo.yaml");
  CHECK(good.code == 0);
  CHECK(good.out == configs + "debug.yaml: ok\n" + configs + "demo.yaml: ok\n");
  CHECK(good.err.empty());

  const ScratchFolder folder;
  write_bytes(folder / "bad.yaml",
              "data: {dataset: synthetic}\ntrain: {epohcs: 1, accumulate: 0}\n");
  const auto path = (folder / "bad.yaml").string();
  const auto bad = troupe_program("config check " + path + " " + configs + "debug.yaml");
  CHECK(bad.code == 2);
  CHECK(bad.out == configs + "debug.yaml: ok\n");
  CHECK(bad.err.starts_with(path + ":2:9: train.epohcs: unknown key; "));
  CHECK(bad.err.find("\n" + path + ":2:32: train.accumulate: 0 is out of range; ") !=
        std::string::npos);
}

TEST_CASE("config check knows the model's modules") {
  const auto off = [](const std::string& names) {
    return troupe_program("config check --any-machine " + configs +
                          "cifar10_resnet20_bf16.yaml --set 'model.autocast_off=" + names + "'");
  };
  CHECK(off("[layer1, -layer1.0.conv1, fc]").code == 0);
  const auto wrong = off("[layer1.O]");
  CHECK(wrong.code == 2);
  CHECK(
      wrong.err ==
      "--set model.autocast_off=[layer1.O]: model.autocast_off: the model has no module "
      "\"layer1.O\"; allowed: conv1, bn1, relu, layer1, layer2, layer3, avgpool, flatten, fc, and "
      "the modules inside them; did you mean \"layer1.0\"?\n");
}

TEST_CASE("config check refuses to clip gradients that still have the loss scale") {
  const ScratchFolder folder;
  write_bytes(folder / "accident.yaml", "data: {dataset: synthetic}\n"
                                        "precision: {mode: amp_fp16}\n"
                                        "train: {clip_grad_norm: 1, clip_before_unscale: true}\n");
  const auto path = (folder / "accident.yaml").string();
  const auto refused = troupe_program("config check --any-machine " + path);
  CHECK(refused.code == 2);
  CHECK(refused.err.find(
            path +
            ":3:49: train.clip_before_unscale: gradients would be clipped with the loss scale") !=
        std::string::npos);
}

TEST_CASE("config check warns about old keys and keys without effect") {
  const auto file = configs + "debug.yaml";
  const auto checked = troupe_program("config check " + file +
                                      " --set train.clip_before_unscale=true --set "
                                      "model.hidden=[8]");
  CHECK(checked.code == 0);
  CHECK(checked.out == file + ": ok\n");
  CHECK(checked.err == file +
                           ": train.clip_before_unscale has no effect since 0.2; it will be "
                           "refused from 0.3\n" +
                           file + ": model.hidden has no effect: resnet20 has no hidden layers\n");
}

TEST_CASE("config check tests whether this machine can run the config, except with --any-machine") {
  const auto file = configs + "debug.yaml --set devices.kind=cuda";
  CHECK(troupe_program("config check --any-machine " + file).code == 0);
}

TEST_CASE("config show prints a config that prints the same again") {
  const ScratchFolder folder;
  const auto first = troupe_program("config show " + configs +
                                    "debug.yaml --set train.epochs=7 --set data.augment=[flip]");
  REQUIRE(first.code == 0);
  CHECK(first.out.find("  epochs: 7\n") != std::string::npos);
  CHECK(first.out.find("  augment: [flip]\n") != std::string::npos);
  write_bytes(folder / "shown.yaml", first.out);
  CHECK(troupe_program("config show " + (folder / "shown.yaml").string()).out == first.out);
}

TEST_CASE("option --set takes one value and leaves the next word to the command") {
  CHECK(troupe_program("config show --set train.epochs=7 " + configs + "debug.yaml").code == 0);
  const auto wrong = troupe_program("config show --set train.epochs=x " + configs + "debug.yaml");
  CHECK(wrong.code == 2);
  CHECK(wrong.err ==
        "--set train.epochs=x: train.epochs: \"x\" has the wrong type; allowed: a whole "
        "number, 1 to 1000000, or null\n");
}

TEST_CASE("a missing config file exits with 2") {
  const auto outcome = troupe_program("config show " + configs + "debgu.yaml");
  CHECK(outcome.code == 2);
  CHECK(outcome.err == configs +
                           "debgu.yaml: cannot open: No such file or directory; did you mean \"" +
                           configs + "debug.yaml\"?\n");
}

TEST_CASE("config schema prints the schema for editors and the reference for people") {
  CHECK(troupe_program("config schema").out == config_json_schema(nn::model_catalogue()));
  CHECK(troupe_program("config schema --format markdown").out ==
        config_markdown(nn::model_catalogue()));
}

TEST_CASE("every command fails if standard output cannot be written") {
  const ScratchFolder folder;
  const auto error = folder / "err";
  for (const std::string command :
       {"--help", "--version", "-v", "help", "version", "train --help", "config schema",
        "config schema --format markdown", "config check {}", "config show {}",
        "config show --graph {} --set devices.engine=interpreter",
        "config import accelerate --keys", "doctor", "plan {}", "data check {}", "man", "man train",
        "completion bash", "__complete ''"}) {
    const auto words =
        fmt::format(fmt::runtime(command), configs + "debug.yaml --set data.dataset=synthetic");
    for (const std::string output : {">/dev/full", ">&-"}) {
      const auto line =
          fmt::format("{} {} 2>{}", troupe_command(words), output, shell_word(error.string()));
      const int status = std::system(line.c_str());
      CAPTURE(line, read_bytes(error));
      CHECK(WEXITSTATUS(status) == 1);
      CHECK(read_bytes(error).find("standard output: ") != std::string::npos);
    }
  }
}

TEST_CASE("a failed command keeps its exit code if standard output cannot be written") {
  const auto line = troupe_command("config show nowhere.yaml >/dev/full 2>&1");
  CHECK(WEXITSTATUS(std::system(line.c_str())) == 2);
}

TEST_CASE("doctor checks devices, libraries, ports and clocks") {
  const auto outcome = troupe_program("doctor --json " + configs + "debug.yaml");
  CHECK(outcome.code == 0);
  const auto found = nlohmann::json::parse(outcome.out);
  for (const auto* name : {"cpu", "cores", "vectors", "isa", "bf16", "memory"})
    CHECK(found["host"].contains(name));
  for (const auto* name :
       {"oneDNN", "CAF", "prometheus-cpp", "Boost", "yaml-cpp", "libwebp", "libicu"})
    CHECK(!found["libraries"][name]["value"].get<std::string>().empty());
  CHECK(found["precision"]["fp32"]["value"] == "fp32 arithmetic, fp32 activations");
  CHECK(found["precision"]["amp_fp16"]["value"] == "fp32 arithmetic, fp16 activations");
  CHECK(found["precision"]["fp16"]["value"] ==
        "fp32 arithmetic, fp16 activations, parameters and optimizer state");
  CHECK(found["cuda"].contains("build"));
  CHECK(found["clock"]["steady"]["state"] == "ok");
  CHECK(found["ports"]["metrics.listen"]["value"] == "127.0.0.1:0: takes any free port");
}

TEST_CASE("TROUPE_ISA limits what the host device uses, and doctor reports it") {
  const auto isa = [](const std::string& limit) -> std::string {
    const auto outcome = troupe_program("doctor --json", "TROUPE_ISA=" + limit);
    REQUIRE(outcome.code == 0);
    const auto found = nlohmann::json::parse(outcome.out);
    CHECK(found["precision"]["amp_bf16"]["state"] == "ok");
    return found["host"]["isa"]["value"];
  };
  const auto best = isa("best");
  CHECK(isa("") == best);
  const auto limited = best == "baseline" ? best : "baseline of " + best + " (TROUPE_ISA)";
  CHECK(isa("baseline") == limited);

  const auto refused = troupe_program("doctor", "TROUPE_ISA=avx");
  CHECK(refused.code == 2);
  CHECK(refused.err ==
        "troupe: TROUPE_ISA: unknown value \"avx\"; allowed: baseline, avx2, avx512, "
        "best; did you mean \"avx2\"?\n");
}

TEST_CASE("doctor fails when a port of the config is taken") {
  const TakenPort port;
  const auto outcome =
      troupe_program("doctor " + configs + "debug.yaml --set metrics.listen=" + port.address());
  CHECK(outcome.code == 1);
  CHECK(outcome.out.find("  FAIL metrics.listen    " + port.address() +
                         ": Address already in use\n") != std::string::npos);
}

TEST_CASE("doctor finds a data port in use, and a daemon does not start with it") {
  const TakenPort port;
  const auto address = port.address();
  const auto settings = configs +
                        "debug.yaml --set cluster.listen=127.0.0.1:0 --set "
                        "metrics.listen=off --set cluster.listen.data_port=" +
                        address.substr(address.find(':') + 1);
  const auto doctor = troupe_program("doctor " + settings);
  CHECK(doctor.code == 1);
  CHECK(doctor.out.find("  FAIL cluster.listen.data_port " + address +
                        ": Address already in use\n") != std::string::npos);
  const auto daemon = troupe_program("node " + settings);
  CHECK(daemon.code == 1);
  CHECK(daemon.err.find("cluster.listen.data_port: cannot listen on " + address +
                        ": Address already in use; choose another port") != std::string::npos);
}

TEST_CASE("doctor reports an address that this machine does not have") {
  const auto outcome =
      troupe_program("doctor " + configs + "debug.yaml --set metrics.listen=192.0.2.1:9401");
  CHECK(outcome.code == 1);
  CHECK(outcome.out.find("192.0.2.1:9401: Cannot assign requested address") != std::string::npos);
}
