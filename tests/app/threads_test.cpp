// Tests programs that cannot start more threads; a preloaded library limits their number.
#include "core/cores.hpp"
#include "tests/app/program.hpp"
#include "tests/support/sanitized.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <regex>
#include <string>

using namespace troupe::testing;

namespace {

Outcome with_threads(int threads, const std::string& arguments) {
  // LD_PRELOAD separates paths by blanks, and the path of the build tree may contain blanks.
  const ScratchFolder folder;
  const auto library = folder / "few_threads.so";
  std::filesystem::create_symlink(TROUPE_FEW_THREADS, library);
  return troupe_program(arguments, "LD_PRELOAD=" + library.string() +
                                       " TROUPE_TEST_THREADS=" + std::to_string(threads));
}

/// Returns the number in "... cannot start 31 threads: ...", or 0 when the text is missing.
int refused_threads(const std::string& text) {
  std::smatch found;
  return std::regex_search(text, found, std::regex{"cannot start ([0-9]+) threads?"})
             ? std::stoi(found[1])
             : 0;
}

/// Checks that too few threads are reported as an error, and that the number in the error is
/// enough.
void check_refused(const std::string& arguments) {
  int needed = 0;
  for (const int few : {0, 1, 2, 5}) {
    const auto outcome = with_threads(few, arguments);
    CAPTURE(arguments, few, outcome.err);
    CHECK(outcome.code == 2);
    needed = refused_threads(outcome.err);
    REQUIRE(needed > few);
  }
  const auto enough = with_threads(needed, arguments);
  CAPTURE(arguments, needed, enough.err);
  CHECK(enough.code == 0);
}

} // namespace

TEST_CASE("config check warns about more threads than cores") {
  const auto check = [](const std::string& options) {
    return troupe_program("config check configs/debug.yaml --set devices.kind=cpu "
                          "--set devices.count=1 --set parallel.strategy=single " +
                          options);
  };
  const auto many = check("--set devices.threads_per_worker=1024");
  INFO(many.err);
  CHECK(many.code == 0);
  CHECK(many.err.find("warning: devices.threads_per_worker: 1024 threads share") !=
        std::string::npos);
  CHECK(check("").err.find("threads share") == std::string::npos);
  CHECK(check("--any-machine --set devices.threads_per_worker=1024").err.empty());
}

TEST_CASE("doctor shows the cores that a process may use") {
  const auto doctor = nlohmann::json::parse(troupe_program("doctor --json").out);
  CHECK(doctor.at("host").at("cores").at("value").get<std::string>().starts_with(
      std::to_string(troupe::usable_cores().count()) + " usable of "));
}

TEST_CASE("a thread that the system refuses is an error, and the suggested number works") {
  if (is_sanitized())
    SKIP("a sanitizer has to be the first library");
  const ScratchFolder folder;
  write_bytes(folder / "text.txt", std::string(2000, 'a') + std::string(2000, 'b'));
  write_bytes(folder / "tiny.yaml",
              "run: {name: tiny, output: " + folder.path().string() +
                  "}\n"
                  "model: {name: gpt2-mini, layers: 1, width: 16, heads: 2, positions: 64}\n"
                  "data: {dataset: text, root: " +
                  (folder / "text.txt").string() +
                  ", sequence_length: 16, batch_size: 4}\n"
                  "train: {max_steps: 1, sample: {prompt: a, tokens: 4}}\n"
                  "devices: {kind: cpu, count: 2, threads_per_worker: 2}\n"
                  "parallel: {strategy: ddp}\n"
                  "metrics: {listen: '127.0.0.1:0'}\n"
                  "checkpoint: {resume: never}\n");
  const auto config = (folder / "tiny.yaml").string();
  check_refused("train --quiet " + config);
  check_refused("generate " + (folder / "tiny").string() + " a --tokens 3");
  check_refused("evaluate " + (folder / "tiny").string());
  check_refused("data check " + config + " --set data.loader_threads=8");
}
