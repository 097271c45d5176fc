// Limits of this host's processors, which bound the ops of a training step from below:
// multiply-adds in registers, bandwidth of caches and memory, and products of libraries. With
// products on the command line, times only those, by oneDNN (bench/compare_language).
#include "bench/cpu/blas.hpp"
#include "bench/cpu/onednn_products.hpp"
#include "core/cores.hpp"
#include "cpu/bandwidth.hpp"
#include "cpu/host_device.hpp"
#include "cpu/onednn/detail/instruction_set.hpp"
#include "cpu/parallel.hpp"
#include "cpu/peak.hpp"
#include "cpu/processor.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

using namespace troupe;
using Json = nlohmann::ordered_json;

namespace {

constexpr int square = 1536; ///< rows and columns of the libraries' products

struct Options {
  std::vector<std::string> products;
  std::string precision = "fp32";
  int threads = usable_cores().count();
  double seconds = 1;
};

std::string processor_name() {
  for (const auto& trait : cpu::description())
    if (trait.name == "cpu")
      return trait.value;
  return {};
}

Json cache_sizes() {
  Json sizes;
  const auto& [l1, l2, l3] = cpu::caches();
  const auto add = [&](const char* name, const cpu::Cache& cache) {
    sizes[name] = {{"bytes", cache.bytes}, {"threads", cache.threads}};
    fmt::print("{}: {} KiB{}\n", name, cache.bytes >> 10,
               cache.threads > 1 ? fmt::format(", shared by {} threads", cache.threads) : "");
  };
  add("L1", l1);
  add("L2", l2);
  add("L3", l3);
  return sizes;
}

/// Prints a row and returns its values; a missing value is null.
Json print_row(const std::string& name, const std::vector<std::optional<double>>& values,
               const char* unit) {
  Json row = Json::array();
  std::string text;
  for (const auto& value : values) {
    row.push_back(value ? Json(*value) : Json(nullptr));
    text += fmt::format("{:>10}", value ? fmt::format("{:.1f}", *value) : "-");
  }
  fmt::print("{:<22}{} {}\n", name, text, unit);
  return row;
}

template <class Measure>
Json measured_row(const std::string& name, const std::vector<int>& threads, const char* unit,
                  Measure measure) {
  std::vector<std::optional<double>> values(threads.size());
  std::ranges::transform(threads, values.begin(), measure);
  return print_row(name, values, unit);
}

Json peaks(const std::vector<int>& threads) {
  Json rows;
  for (const auto type : {DType::f32, DType::bf16})
    rows[std::string{to_string(type)}] =
        measured_row(fmt::format("multiply-add {}", to_string(type)), threads, "GFLOP/s",
                     [type](int count) -> std::optional<double> {
                       return 1e-9 * cpu::measure_peak(type, count);
                     });
  return rows;
}

Json bandwidths(const std::vector<int>& threads) {
  Json rows;
  for (const auto level_word : choice_words<cpu::MemoryLevel>)
    for (const auto access_word : choice_words<cpu::MemoryAccess>) {
      const auto level = *choice_named<cpu::MemoryLevel>(level_word);
      const auto access = *choice_named<cpu::MemoryAccess>(access_word);
      rows[std::string{level_word}][std::string{access_word}] =
          measured_row(fmt::format("{} {}", level_word, access_word), threads, "GB/s",
                       [=](int count) -> std::optional<double> {
                         const auto bytes = cpu::working_set(level, cpu::caches(),
                                                             static_cast<std::size_t>(count));
                         if (bytes == 0)
                           return std::nullopt;
                         return 1e-9 * cpu::measure_bandwidth(access, bytes, count);
                       });
    }
  return rows;
}

Json products_of_libraries(const std::vector<int>& threads, double seconds) {
  Json rows;
  rows["oneDNN"] = measured_row("sgemm oneDNN " + bench::onednn_version(), threads, "GFLOP/s",
                                [&](int count) -> std::optional<double> {
                                  const cpu::ThreadScope scope{count};
                                  const bench::Product product{1, square, square, square};
                                  return 1e-9 * product.operations() /
                                         bench::seconds_of_product(product, false, seconds);
                                });
  for (const auto& library : {bench::openblas, bench::blis}) {
    rows[library.name] =
        measured_row(fmt::format("sgemm {}", library.name), threads, "GFLOP/s", [&](int count) {
          const cpu::ThreadScope scope{count};
          auto rate = bench::sgemm_rate(library, square, count, seconds);
          return rate ? std::optional{1e-9 * *rate} : std::nullopt;
        });
    if (rows[library.name].front().is_null())
      fmt::print("  {} cannot be loaded: install {}\n", library.file, library.package);
  }
  return rows;
}

/// 1, 2, 4, ..., and the largest.
std::vector<int> thread_counts(int most) {
  std::vector<int> counts;
  for (int count = 1; count < most; count *= 2)
    counts.push_back(count);
  counts.push_back(most);
  return counts;
}

void print_limits(const Options& options) {
  const auto name = processor_name(), isa = cpu::isa_name(cpu::processor());
  fmt::print("{}, {}\n", name, isa);
  const auto threads = thread_counts(options.threads);
  Json all = {{"processor", name}, {"isa", isa}, {"threads", threads}, {"caches", cache_sizes()}};
  fmt::print("{:<22}", "threads");
  for (const auto count : threads)
    fmt::print("{:>10}", count);
  fmt::print("\n");
  all["gflops"] = peaks(threads);
  all["gbytes_per_second"] = bandwidths(threads);
  all["sgemm_gflops"] = products_of_libraries(threads, options.seconds);
  fmt::print("{}\n", all.dump());
}

void print_products(const Options& options) {
  const cpu::ThreadScope scope{options.threads};
  Json milliseconds, speeds;
  for (const auto& text : options.products) {
    const auto product = *bench::parse_product(text);
    const double seconds =
        bench::seconds_of_product(product, options.precision == "bf16", options.seconds);
    milliseconds[text] = 1e3 * seconds;
    speeds[text] = 1e-9 * product.operations() / seconds;
  }
  const Json all = {{"precision", options.precision},
                    {"threads", options.threads},
                    {"onednn", bench::onednn_version()},
                    {"ms", milliseconds},
                    {"gflops", speeds}};
  fmt::print("{}\n", all.dump());
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{
      "Measures the limits of this host's processors: prints a table, then a line of JSON. "
      "With products, times only those, by oneDNN"};
  app.add_option("products", options.products, "[COUNTx]ROWSxINNERxCOLUMNS")
      ->check([](const std::string& text) {
        return bench::parse_product(text) ? ""
                                          : text + " is not of the form [COUNTx]ROWSxINNERxCOLUMNS";
      });
  app.add_option("--precision", options.precision, "of the products: fp32 or bf16")
      ->check(CLI::IsMember({"fp32", "bf16"}));
  app.add_option("--threads", options.threads, "the most to measure")->check(CLI::PositiveNumber);
  app.add_option("--seconds", options.seconds, "time to spend on each product and layout");
  CLI11_PARSE(app, argc, argv);
  cpu::limit_library();
  options.products.empty() ? print_limits(options) : print_products(options);
}
