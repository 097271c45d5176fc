#include "bench/gpu/kernel_trace.hpp"

#include "core/fail.hpp"
#include "gpu/libraries.hpp"

#include <cupti.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <utility>

namespace troupe::bench {

namespace {

struct Cupti {
  decltype(&::cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&::cuptiActivityEnable) enable = nullptr;
  decltype(&::cuptiActivityDisable) disable = nullptr;
  decltype(&::cuptiActivityFlushAll) flush = nullptr;
  decltype(&::cuptiActivityGetNextRecord) next_record = nullptr;
  decltype(&::cuptiGetResultString) result_string = nullptr;
};

/// Global to the process, because CUPTI's buffer callbacks take no user argument. Only one
/// KernelTrace may exist at a time.
struct Recording {
  Cupti cupti;
  std::mutex mutex; ///< CUPTI returns buffers on its own thread
  std::vector<KernelSpan> spans;
};

Recording& recording() {
  static Recording one;
  return one;
}

constexpr std::size_t buffer_bytes = 4u << 20;
constexpr std::array kinds = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                              CUPTI_ACTIVITY_KIND_MEMSET};

void CUPTIAPI request_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, buffer_bytes));
  *size = *buffer ? buffer_bytes : 0;
  *most_records = 0; // as many as fit
}

void keep(const CUpti_Activity& record, std::vector<KernelSpan>& spans) {
  if (record.kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
    const auto& kernel = reinterpret_cast<const CUpti_ActivityKernel10&>(record);
    spans.push_back({kernel.name ? kernel.name : "?", kernel.start, kernel.end});
  } else if (record.kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
    const auto& copy = reinterpret_cast<const CUpti_ActivityMemcpy6&>(record);
    spans.push_back({"copy", copy.start, copy.end});
  } else if (record.kind == CUPTI_ACTIVITY_KIND_MEMSET) {
    const auto& fill = reinterpret_cast<const CUpti_ActivityMemset4&>(record);
    spans.push_back({"fill", fill.start, fill.end});
  }
}

void CUPTIAPI take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                          std::size_t valid) {
  auto& [cupti, mutex, spans] = recording();
  const std::lock_guard lock{mutex};
  CUpti_Activity* record = nullptr;
  while (cupti.next_record(buffer, valid, &record) == CUPTI_SUCCESS)
    keep(*record, spans);
  std::free(buffer);
}

Status status(CUptiResult result, const char* what) {
  if (result == CUPTI_SUCCESS)
    return {};
  const char* said = nullptr;
  recording().cupti.result_string(result, &said);
  return fail(Errc::unsupported, "CUPTI: {}: {}", what, said ? said : "unknown error");
}

Result<Cupti> open_cupti() {
  TROUPE_TRY(const auto library,
             gpu::SharedLibrary::open(fmt::format("libcupti.so.{}", CUPTI_API_VERSION / 10000),
                                      gpu::library_places_of_process()));
  Cupti table;
  gpu::LibraryFunctions find{library};
  find("cuptiActivityRegisterCallbacks", table.register_callbacks);
  find("cuptiActivityEnable", table.enable);
  find("cuptiActivityDisable", table.disable);
  find("cuptiActivityFlushAll", table.flush);
  find("cuptiActivityGetNextRecord", table.next_record);
  find("cuptiGetResultString", table.result_string);
  TROUPE_TRY(find.done());
  return table;
}

} // namespace

double idle_ratio(std::vector<KernelSpan> spans) {
  if (spans.empty())
    return 0;
  std::ranges::sort(spans, {}, &KernelSpan::begin);
  std::uint64_t busy = 0, until = spans.front().begin;
  for (const auto& span : spans) {
    busy += span.end > until ? span.end - std::max(until, span.begin) : 0;
    until = std::max(until, span.end);
  }
  const auto whole = until - spans.front().begin;
  return whole == 0 ? 0 : 1 - static_cast<double>(busy) / static_cast<double>(whole);
}

Result<std::unique_ptr<KernelTrace>> KernelTrace::begin() {
  TROUPE_TRY(auto table, open_cupti());
  recording().cupti = table;
  recording().spans.clear();
  TROUPE_TRY(status(table.register_callbacks(request_buffer, take_buffer), "callbacks"));
  std::unique_ptr<KernelTrace> trace{new KernelTrace};
  for (const auto kind : kinds)
    TROUPE_TRY(status(table.enable(kind), "enable"));
  return trace;
}

KernelTrace::~KernelTrace() {
  for (const auto kind : kinds)
    recording().cupti.disable(kind);
}

Result<std::vector<KernelSpan>> KernelTrace::finish() {
  TROUPE_TRY(status(recording().cupti.flush(0), "flush"));
  const std::lock_guard lock{recording().mutex};
  return std::exchange(recording().spans, {});
}

} // namespace troupe::bench
