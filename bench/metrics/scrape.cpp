// Cost of a scrape of a job's metrics: processor time of this project's text output and of
// prometheus-cpp's.
//
//   bench_scrape [WORKERS]
//
// WORKERS (64): number of ranks; each has a series of every metric with label rank. The contenders
// alternate, so a machine that slows down affects all of them. Prints medians.
#include "metrics/registry/detail/families.hpp"
#include "metrics/registry/names.hpp"

#include <prometheus/text_serializer.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <vector>

using namespace troupe::metrics;

namespace {

constexpr int rounds = 400;

double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::vector<std::string> values_of(std::string_view label, int workers) {
  if (label == "rank") {
    std::vector<std::string> ranks;
    for (int rank = 0; rank < workers; ++rank)
      ranks.push_back(std::to_string(rank));
    return ranks;
  }
  if (label == "kind")
    return {"parameters", "gradients", "optimizer", "activations", "buffers", "pinned"};
  return {std::string{label}};
}

void set(Families& families, const MetricName& metric, LabelValues labels, double value) {
  if (metric.type == MetricType::gauge)
    families.set(metric, value, labels);
  else
    families.add(metric, value, labels);
}

/// Gives every value many decimals, as most measured values have.
void fill(Families& families, int workers) {
  double value = 0.123456789;
  for (const auto& metric : names::all()) {
    if (metric.type == MetricType::histogram)
      families.observe(metric, value);
    else if (metric.labels[0].empty())
      set(families, metric, {}, value);
    else
      for (const auto& first : values_of(metric.labels[0], workers))
        if (metric.labels[1].empty())
          set(families, metric, {first}, value *= 1.01);
        else
          for (const auto& second : values_of(metric.labels[1], workers))
            set(families, metric, {first, second}, value *= 1.01);
  }
}

template <class Work>
void measure(std::vector<double>& seconds, const Work& work) {
  const double begin = processor_seconds();
  const auto text = work();
  seconds.push_back(processor_seconds() - begin);
  if (text.empty())
    std::abort();
}

double median(std::vector<double>& values) {
  std::ranges::nth_element(values, values.begin() + values.size() / 2);
  return values[values.size() / 2];
}

} // namespace

int main(int count, char** words) {
  const int workers = count > 1 ? std::atoi(words[1]) : 64;
  Families families;
  fill(families, workers);
  const auto collected = families.collect();
  const prometheus::TextSerializer serializer;
  std::vector<double> ours, serialized, both;
  for (int round = 0; round < rounds; ++round) {
    measure(ours, [&] { return families.text(); });
    measure(serialized, [&] { return serializer.Serialize(collected); });
    measure(both, [&] { return serializer.Serialize(families.collect()); });
  }
  const auto text = families.text();
  fmt::print("{} workers: {} lines, {} bytes\n", workers, std::ranges::count(text, '\n'),
             text.size());
  fmt::print("ours                      {:8.1f} us\n", median(ours) * 1e6);
  fmt::print("prometheus-cpp            {:8.1f} us\n", median(serialized) * 1e6);
  fmt::print("collected and serialized  {:8.1f} us\n", median(both) * 1e6);
  fmt::print("ours / prometheus-cpp: {:.3f}\n", median(ours) / median(serialized));
}
