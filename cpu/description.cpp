#include "core/cores.hpp"
#include "core/graph/precision.hpp"
#include "cpu/engines.hpp"
#include "cpu/host_device.hpp"
#include "cpu/processor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace troupe::cpu {

namespace {

/// Returns the first value of `key` in a /proc file of "key : value" lines.
std::string proc_value(const char* path, std::string_view key) {
  std::ifstream file{path};
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(':');
    if (!line.starts_with(key) || colon == std::string::npos)
      continue;
    const auto begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? std::string{} : line.substr(begin);
  }
  return {};
}

/// Returns the instruction sets that determine training speed, by the kernel's names.
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

/// Describes the instruction sets in use: "avx2 of avx512_core_bf16 (TROUPE_ISA)".
Trait isa_trait() {
  const auto used = isa_name(processor());
  const auto whole = isa_name(whole_processor());
  return {"host", "isa", used == whole ? used : fmt::format("{} of {} (TROUPE_ISA)", used, whole)};
}

/// Describes what each precision of the host means on this processor.
Traits precision_traits() {
  Traits all;
  for (const auto precision : {Precision::fp32, Precision::fp16, Precision::bf16,
                               Precision::amp_fp16, Precision::amp_bf16})
    all.push_back({"precision", std::string{to_string(precision)},
                   describe(precision, arithmetic_type(compute_type(precision)))});
  return all;
}

} // namespace

Traits description() {
  const auto flags = vector_flags();
  Traits all;
  all.push_back({"host", "cpu", proc_value("/proc/cpuinfo", "model name")});
  all.push_back({"host", "cores", describe_cores(usable_cores(), sysconf(_SC_NPROCESSORS_CONF))});
  all.push_back({"host", "vectors", fmt::format("{}", fmt::join(flags, " ")), !flags.empty()});
  all.push_back(isa_trait());
  all.push_back({"host", "bf16",
                 arithmetic_type(DType::bf16) == DType::bf16
                     ? "fast"
                     : "stored as bf16, computed in fp32: less memory, about fp32's speed"});
  all.push_back({"host", "memory",
                 fmt::format("{}, {} available", gibibytes(proc_value("/proc/meminfo", "MemTotal")),
                             gibibytes(proc_value("/proc/meminfo", "MemAvailable")))});
  std::ranges::move(precision_traits(), std::back_inserter(all));
  return all;
}

} // namespace troupe::cpu
