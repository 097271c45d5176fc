#include "doctor.hpp"

#include "troupe/core/config/capabilities.hpp"
#include "troupe/core/graph/precision.hpp"
#include "troupe/core/units.hpp"
#include "troupe/cpu/engines.hpp"
#include "troupe/cpu/processor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

namespace troupe::app {

namespace {

/// The first value of `key` in a /proc file of "key : value" lines.
std::string proc_value(const char* path, std::string_view key) {
  std::ifstream file{path};
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key))
      continue;
    const auto colon = line.find(':');
    if (colon == std::string::npos)
      continue;
    const auto begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? std::string{} : line.substr(begin);
  }
  return {};
}

/// Instruction sets that decide how fast training is; the kernel's names.
std::vector<std::string> vector_flags() {
  std::vector<std::string> found;
  std::istringstream flags{proc_value("/proc/cpuinfo", "flags")};
  for (std::string flag; flags >> flag;)
    for (const auto* wanted : {"avx2", "fma", "avx512f", "avx512bw", "avx512_vnni", "avx512_bf16",
                               "avx512_fp16", "amx_bf16"})
      if (flag == wanted)
        found.push_back(flag);
  return found;
}

std::string gibibytes(const std::string& proc_kilobytes) {
  std::istringstream text{proc_kilobytes};
  double kilobytes = 0;
  text >> kilobytes;
  return fmt::format("{:.1f} GiB", kilobytes / (1024.0 * 1024.0));
}

/// What is used of the vectors: "avx2 of avx512_core_bf16 (TROUPE_ISA)".
Finding isa_finding() {
  const auto used = cpu::isa_name(cpu::processor());
  const auto whole = cpu::isa_name(cpu::whole_processor());
  return {"host", "isa", used == whole ? used : fmt::format("{} of {} (TROUPE_ISA)", used, whole)};
}

Finding bf16_finding() {
  const bool multiplies = cpu::arithmetic_type(DType::bf16) == DType::bf16;
  return {"host", "bf16",
          multiplies ? "fast"
                     : "stored as bf16, computed in fp32: less memory, about fp32's speed"};
}

/// What the CPU makes of every precision that it has.
Findings precision_findings() {
  Findings all;
  for (const auto precision : {Precision::fp32, Precision::fp16, Precision::bf16,
                               Precision::amp_fp16, Precision::amp_bf16})
    all.push_back({"precision", std::string{to_string(precision)},
                   describe(precision, cpu::arithmetic_type(compute_type(precision)))});
  return all;
}

Findings clock_findings() {
  timespec resolution = {};
  clock_getres(CLOCK_MONOTONIC, &resolution);
  Finding steady{
      "clock", "steady",
      fmt::format("resolution {} ns", resolution.tv_sec * 1000000000 + resolution.tv_nsec)};
  timex state = {};
  const int answer = adjtimex(&state); // modes = 0: only reads
  Finding wall{"clock", "synchronized", "", Finding::State::good};
  if (answer == -1 || answer == TIME_ERROR || (state.status & STA_UNSYNC) != 0) {
    wall.value = "not known to be; log times of several hosts may not agree";
    wall.state = Finding::State::absent;
  } else {
    wall.value = fmt::format("yes, error at most {} us", state.maxerror);
  }
  return {steady, wall};
}

} // namespace

Findings host_findings() {
  const auto flags = vector_flags();
  const auto usable = host_capabilities().host_cores;
  Findings all;
  all.push_back({"host", "cpu", proc_value("/proc/cpuinfo", "model name")});
  all.push_back(
      {"host", "cores", fmt::format("{} usable of {}", usable, sysconf(_SC_NPROCESSORS_CONF))});
  all.push_back({"host", "vectors", fmt::format("{}", fmt::join(flags, " ")),
                 flags.empty() ? Finding::State::absent : Finding::State::good});
  all.push_back(isa_finding());
  all.push_back(bf16_finding());
  all.push_back({"host", "memory",
                 fmt::format("{}, {} available", gibibytes(proc_value("/proc/meminfo", "MemTotal")),
                             gibibytes(proc_value("/proc/meminfo", "MemAvailable")))});
  for (auto more : {precision_findings(), clock_findings()})
    std::ranges::move(more, std::back_inserter(all));
  return all;
}

} // namespace troupe::app
