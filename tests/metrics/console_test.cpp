#include "metrics/console/console.hpp"
#include "metrics/time_stamp.hpp"
#include "tests/metrics/pseudo_terminal.hpp"
#include "tests/metrics/terminal_screen.hpp"
#include "tests/metrics/text.hpp"
#include "tests/support/records.hpp"
#include "tests/support/scratch_folder.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <thread>

using namespace troupe;
using namespace troupe::metrics;
using namespace troupe::testing;
using namespace std::chrono_literals;

namespace {

/// A screen on two files, and a clock that the test moves.
struct Files {
  ScratchFolder folder;
  int out = ::open((folder / "out").c_str(), O_WRONLY | O_CREAT, 0600);
  int err = ::open((folder / "err").c_str(), O_WRONLY | O_CREAT, 0600);
  Screen screen{out, err};
  std::chrono::steady_clock::time_point now{};

  ~Files() {
    ::close(out);
    ::close(err);
  }
  Console console(LogFormat format = LogFormat::text, bool quiet = false) {
    return Console(screen, {.quiet = quiet, .format = format, .now = [this] { return now; }});
  }
  std::string written() const { return read_bytes(folder / "out"); }
  std::string errors() const { return read_bytes(folder / "err"); }
};

/// A screen on a terminal.
struct Terminal {
  using Narrowed = TerminalScreen::Narrowed;

  explicit Terminal(unsigned short columns, Narrowed narrowed = Narrowed::breaks_lines)
      : terminal(columns), shown(columns, narrowed) {}

  PseudoTerminal terminal;
  TerminalScreen shown;
  const int named = ::setenv("TERM", "xterm", 1); // test runners have no terminal
  Screen screen{terminal.descriptor(), terminal.descriptor()};
  std::chrono::steady_clock::time_point now{};

  Console console() {
    return Console(screen, {.now = [this] { return now; }});
  }
  std::vector<std::string> lines() {
    shown.write(terminal.read());
    return shown.lines();
  }
  void resize(unsigned short columns) {
    shown.write(terminal.read());
    shown.resize(columns);
    terminal.resize(columns);
  }
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  return lines;
}

EpochProgress progress_of(std::int64_t step) {
  RecentSteps recent;
  recent.add(small_step(step));
  return progress_after(small_run(), small_step(step), recent);
}

void whole_run(Console& console, std::chrono::steady_clock::time_point& now) {
  console.begin(small_run());
  for (std::int64_t step = 0; step < 30; ++step) {
    now += 1s;
    console.show(small_step(step));
    if ((step + 1) % 10 == 0)
      console.show(small_epoch(step / 10));
  }
  console.end(small_summary(), "runs/small/report.html");
}

} // namespace

TEST_CASE("the progress bar shows epoch, step, loss, accuracy, images/s, MFU and time left") {
  const auto bar = progress_bar(progress_of(14), 112);
  CHECK(bar == "epoch 2/3 [========>       ] 5/10  loss 0.1333  accuracy 50.0%  "
               "1,024 images/s  MFU 2.0%, 40 GFLOP/s  0:02 left");
}

TEST_CASE("the progress bar fits any width and drops the least important figures first") {
  for (int width = 1; width < 160; ++width) {
    CAPTURE(width);
    CHECK(std::ssize(progress_bar(progress_of(14), width)) < width);
  }
  const auto at = [](int width) { return progress_bar(progress_of(14), width); };
  CHECK(at(90) == "epoch 2/3 [========>       ] 5/10  loss 0.1333  accuracy 50.0%  "
                  "1,024 images/s  0:02 left");
  CHECK(at(80) ==
        "epoch 2/3 [===========>          ] 5/10  loss 0.1333  1,024 images/s  0:02 left");
  CHECK(at(60) == "epoch 2/3 [=========>        ] 5/10  loss 0.1333  0:02 left");
  CHECK(at(45) == "epoch 2/3 [=======>      ] 5/10  loss 0.1333");
  CHECK(at(30) == "epoch 2/3 5/10  loss 0.1333");
  CHECK(at(20) == "epoch 2/3 5/10");
  CHECK(at(10) == "5/10");
  CHECK(at(4).empty());
}

TEST_CASE("at 80 columns a long run with long epochs still has a bar") {
  auto run = small_run();
  run.steps_per_epoch = 12'345;
  run.total_steps = 300 * run.steps_per_epoch;
  auto step = small_step(123 * run.steps_per_epoch + 10'000);
  step.epoch = 123;
  RecentSteps recent;
  recent.add(step);
  const auto bar = progress_bar(progress_after(run, step, recent), 80);
  CHECK(bar.starts_with("epoch 124/300 [=="));
  CHECK(has(bar, "] 10001/12345  loss "));
  CHECK(bar.ends_with(" left"));
}

TEST_CASE("a run that max_steps ends within an epoch counts up to that step") {
  auto run = small_run();
  run.total_steps = 25;
  const auto progress = progress_after(run, small_step(24), {});
  CHECK(progress.epochs == 3);
  CHECK(progress.step == 5);
  CHECK(progress.steps == 5);
  CHECK(progress.steps_left == 0);
}

TEST_CASE("generated text is shown in one escaped line") {
  Files files;
  auto console = files.console();
  console.begin(small_run());
  console.show(small_generated(1500));
  auto hostile = small_generated(1600);
  hostile.text = "\x1b[31m";
  console.show(hostile);
  const auto lines = lines_of(files.written());
  REQUIRE(lines.size() == 3);
  CHECK(lines[1] == "step 1,500 generates: And God said,\\nLet there be light.");
  CHECK(lines[2] == "step 1,600 generates: And God\\x1b[31m");
}

TEST_CASE("recent steps have more weight than old ones") {
  RecentSteps recent;
  auto step = small_step(0);
  step.seconds = 10; // the first step is slow
  recent.add(step);
  CHECK(recent.samples_per_second() == 12.8);
  for (std::int64_t i = 1; i < 400; ++i)
    recent.add(small_step(i));
  CHECK(recent.samples_per_second() > 1000);
}

TEST_CASE("a terminal shows one line that is updated at most ten times a second") {
  Terminal on(100);
  auto console = on.console();
  console.begin(small_run());
  for (std::int64_t step = 0; step < 30; ++step) {
    on.now += 25ms;
    console.show(small_step(step));
  }
  const auto written = on.terminal.read();
  CHECK(std::ranges::count(written, '\n') == 1); // the opening line
  const auto bars = count(written, "epoch ");
  CHECK(bars >= 6);
  CHECK(bars <= 8);
  on.shown.write(written);
  CHECK(on.shown.lines().size() == 2);
}

TEST_CASE("log lines and epochs are written above the bar, which is removed at the end") {
  Terminal on(100);
  const auto logger = make_logger(on.screen, LogFormat::text);
  auto console = on.console();
  console.begin(small_run());
  console.show(small_step(0));
  logger->warn("checkpoint {} was not written", 10);
  auto lines = on.lines();
  REQUIRE(lines.size() == 3);
  CHECK(lines[1].ends_with("warning: checkpoint 10 was not written"));
  CHECK(lines[2].starts_with("epoch 1/3 ["));
  console.show(small_epoch(0));
  console.end(small_summary(), "runs/small/report.html");
  lines = on.lines();
  CHECK(lines.back() == "report: runs/small/report.html");
  CHECK(std::ranges::count_if(lines, [](const auto& line) { return has(line, "["); }) == 0);
}

TEST_CASE("the last line names the best epoch") {
  Terminal on(100);
  auto console = on.console();
  console.begin(small_run());
  console.end(small_summary(), "runs/small/report.html", "best: epoch 2, test accuracy 75.0%");
  CHECK(on.lines().back() == "best: epoch 2, test accuracy 75.0%");
}

TEST_CASE("a terminal that becomes narrower gets a bar that fits") {
  Terminal on(100);
  auto console = on.console();
  console.begin(small_run());
  on.resize(40);
  console.show(small_step(0));
  CHECK(on.lines().back().size() < 40);
}

TEST_CASE("a terminal that is resized while a bar is shown keeps no remains of it") {
  Terminal on(100, GENERATE(Terminal::Narrowed::breaks_lines, Terminal::Narrowed::cuts_lines));
  std::vector<std::string> expected;
  std::string bar;
  std::int64_t step = 0;
  const auto draw = [&] {
    bar = progress_bar(progress_of(step++), on.screen.width());
    on.screen.show_bar(bar);
  };
  for (const unsigned short columns : {60, 100, 25, 8, 33, 120, 61, 20, 80}) {
    CAPTURE(columns);
    draw();
    on.resize(columns);
    draw();
    CHECK(on.lines().back() == bar);
    CHECK(on.lines().size() == expected.size() + 1);
    on.resize(columns * 2 / 3 + 2);
    expected.push_back("line " + std::to_string(expected.size()));
    on.screen.write_line(Screen::Target::out, expected.back());
    draw();
    CHECK(on.lines().back() == bar);
    CHECK(on.lines().size() == expected.size() + 1);
  }
  on.screen.show_bar({});
  CHECK(on.lines() == expected);
}

TEST_CASE("a bar drawn just after the terminal became narrower leaves no remains") {
  Terminal on(100, GENERATE(Terminal::Narrowed::breaks_lines, Terminal::Narrowed::cuts_lines));
  on.shown.resize(40); // the writer does not know the new width yet
  on.screen.show_bar(progress_bar(progress_of(14), on.screen.width()));
  CHECK(on.lines().size() == 1);
  on.resize(40);
  on.screen.write_line(Screen::Target::out, "line");
  on.screen.show_bar({});
  CHECK(on.lines() == std::vector<std::string>{"line"});
}

TEST_CASE("a dumb terminal gets lines") {
  PseudoTerminal terminal(100);
  ::setenv("TERM", "dumb", 1);
  CHECK_FALSE(Screen(terminal.descriptor(), terminal.descriptor()).has_bar());
}

TEST_CASE("without a terminal a line is written every five seconds and for each epoch") {
  Files files;
  auto console = files.console();
  whole_run(console, files.now);
  const auto lines = lines_of(files.written());
  REQUIRE(lines.size() == 1 + 6 + 3 + 2);
  CHECK(lines[0] ==
        "small: resnet20 on cifar10, 30 steps of 128 samples, ddp with 2 workers, fp32");
  CHECK(lines[1].starts_with("epoch 1/3  step 5/10  loss "));
  CHECK(has(lines[1], "1,024 images/s"));
  CHECK(lines[3] ==
        "epoch 1/3: loss 1.5000, accuracy 50.0%, test loss 1.2500, test accuracy 62.5%, 1.5 s");
  CHECK(lines[10] == "small: completed after 30 steps (3 epochs), 4.5 s, 1,024 images/s, loss "
                     "0.0667, test accuracy 62.5%");
  CHECK(lines[11] == "report: runs/small/report.html");
  CHECK_FALSE(has(files.written(), "\033"));
  CHECK(files.errors().empty());
}

TEST_CASE("with --quiet only the end is printed") {
  Files files;
  auto console = files.console(LogFormat::text, true);
  whole_run(console, files.now);
  CHECK(lines_of(files.written()).size() == 2);
}

TEST_CASE("a failed run reports it on stderr with the error") {
  Files files;
  auto console = files.console();
  auto summary = small_summary();
  summary.status = "failed";
  summary.error = "numeric: the loss is nan (rank 1, step 42)";
  console.begin(summary);
  console.end(summary, "");
  CHECK(has(files.errors(), "small: failed after"));
  CHECK(has(files.errors(), "error: numeric: the loss is nan (rank 1, step 42)"));
}

TEST_CASE("a run that ended before its first step shows no loss and no speed") {
  Files files;
  auto console = files.console();
  RunSummary summary;
  summary.name = "small";
  summary.status = "stopped";
  console.end(summary, "");
  CHECK(files.written() == "small: stopped after 0 steps, 0 ms\n");
}

TEST_CASE("a run of a language model ends with its test perplexity") {
  Files files;
  auto console = files.console();
  auto summary = small_summary();
  summary.tokens_per_sample = 128;
  summary.test_loss = std::log(6.25);
  summary.accuracy = {};
  console.end(summary, "");
  CHECK(files.written().ends_with(", test perplexity 6.25\n"));
}

TEST_CASE("with --log-format json every line is an object, both of progress and of the log") {
  Files files;
  const auto logger = make_logger(files.screen, LogFormat::json);
  auto console = files.console(LogFormat::json);
  logger->warn("a \"quoted\" word\nand a second line");
  whole_run(console, files.now);
  std::vector<std::string> events;
  for (const auto& line : lines_of(files.written())) {
    CAPTURE(line);
    const auto object = nlohmann::json::parse(line);
    CHECK(object.at("time").get<std::string>().size() == 24);
    CHECK(object.contains("level"));
    events.push_back(object.at("event"));
  }
  REQUIRE(events.size() == 1 + 1 + 30 + 3 + 1);
  CHECK(events[0] == "log");
  CHECK(events[1] == "run");
  CHECK(events[2] == "step");
  CHECK(events[12] == "epoch");
  CHECK(events.back() == "end");
  CHECK(files.errors().empty());
}

TEST_CASE("with --log-format json the first step is written, then at most one per second") {
  Files files;
  auto console = files.console(LogFormat::json);
  console.begin(small_run());
  for (std::int64_t step = 0; step < 30; ++step) {
    files.now += 125ms;
    console.show(small_step(step));
  }
  const auto lines = lines_of(files.written());
  REQUIRE(lines.size() == 1 + 4); // 3.75 s
  const auto first = nlohmann::json::parse(lines[1]), second = nlohmann::json::parse(lines[2]);
  CHECK(first.at("step") == 0);
  CHECK(second.at("step") == 8);
  CHECK(second.at("epoch") == 0);
  CHECK(second.at("epochs") == 3);
  CHECK(second.at("total_steps") == 30);
  CHECK(second.at("samples_per_second") == Catch::Approx(1024));
  CHECK(second.at("seconds_left") == Catch::Approx(21 * 0.125));
}

TEST_CASE("warnings are written to stderr, and messages below the log level nowhere") {
  Files files;
  const auto logger = make_logger(files.screen, LogFormat::text, spdlog::level::info);
  logger->debug("hidden");
  logger->info("resumed");
  logger->error("no room");
  CHECK(lines_of(files.written()).size() == 1);
  CHECK(files.written().ends_with(" resumed\n"));
  CHECK(files.errors().ends_with(" error: no room\n"));
}

TEST_CASE("steps skipped by loss scaling are logged at growing intervals") {
  Files files;
  const auto format = GENERATE(LogFormat::text, LogFormat::json);
  auto console = files.console(format);
  console.begin(small_run());
  console.show(small_step(0)); // reported in JSON format
  const auto told = lines_of(files.written()).size();
  for (std::int64_t i = 0; i < 20; ++i) {
    auto step = small_step(i);
    step.loss_scale = std::ldexp(1.0, 16 - static_cast<int>(i));
    step.skipped_steps = i; // all but the first
    console.show(step);
  }
  const auto lines = lines_of(files.written());
  REQUIRE(lines.size() == told + 5); // skipped steps 1, 2, 4, 8 and 16
  if (format == LogFormat::text) {
    CHECK(lines[1] == "step 2: skipped, because gradients are not finite (1 step skipped so far); "
                      "the loss scale is now 32768");
    CHECK(lines[5].starts_with("step 17: "));
    CHECK(has(lines[5], "(16 steps skipped so far); the loss scale is now 1"));
  } else {
    const auto object = nlohmann::json::parse(lines.back());
    CHECK(object.at("event") == "skipped");
    CHECK(object.at("level") == "warning");
    CHECK(object.at("skipped_steps") == 16);
    CHECK(object.at("loss_scale") == 1.0);
  }
}

TEST_CASE("steps skipped before a resume are not logged again") {
  Files files;
  auto console = files.console();
  auto run = small_run();
  run.first_step = 10;
  console.begin(run);
  for (const std::int64_t skipped : {5, 5, 7, 8}) {
    auto step = small_step(10);
    step.loss_scale = 64;
    step.skipped_steps = skipped;
    console.show(step);
  }
  const auto lines = lines_of(files.written());
  REQUIRE(lines.size() == 2);
  CHECK(has(lines[1], "(8 steps skipped so far)"));
}

TEST_CASE("a loss of nan does not stop the display") {
  Files files;
  auto console = files.console();
  console.begin(small_run());
  auto step = small_step(0);
  step.loss = std::numeric_limits<double>::quiet_NaN();
  files.now += 6s;
  console.show(step);
  CHECK(has(files.written(), "loss nan"));
}

TEST_CASE("a full disk behind stdout is reported and ends nothing") {
  const int full = ::open("/dev/full", O_WRONLY);
  REQUIRE(full >= 0);
  int lost = 0;
  Screen screen(full, full, [&lost](int error) { lost = error; });
  Console console(screen, {});
  console.begin(small_run());
  CHECK(lost == ENOSPC);
  console.end(small_summary(), "");
  ::close(full);
}

TEST_CASE("a time is converted to text and back") {
  const auto moment = std::chrono::sys_days{std::chrono::year{2026} / 2 / 28} + 23h + 59min + 7s;
  CHECK(utc(moment) == "2026-02-28T23:59:07Z");
  CHECK(utc_milliseconds(moment + 45ms) == "2026-02-28T23:59:07.045Z");
  CHECK(parse_utc("2026-02-28T23:59:07Z") == moment);
  CHECK(parse_utc("2026-02-28T23:59:07.045Z") == moment + 45ms);
  for (const char* text : {"", "Z", "2026-02-28", "2026-02-28T23:59:07", "2026-02-28T23:59:07.04Z",
                           "2026-02-28T23:59:07.0x5Z", "2026-02-28T23:59:07.-45Z"})
    CHECK_FALSE(parse_utc(text));
}

TEST_CASE("threads may log while the bar is drawn") {
  Terminal on(100);
  const auto logger = make_logger(on.screen, LogFormat::text);
  auto console = on.console();
  console.begin(small_run());
  std::thread other([&logger] {
    for (int i = 0; i < 20; ++i)
      logger->info("line {}", i);
  });
  for (std::int64_t step = 0; step < 20; ++step) {
    on.now += 1s;
    console.show(small_step(step));
  }
  other.join();
  const auto lines = on.lines();
  CHECK(lines.size() == 1 + 20 + 1);
  CHECK(lines.back().starts_with("epoch 2/3 ["));
}
