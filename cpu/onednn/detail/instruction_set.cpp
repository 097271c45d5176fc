#include "cpu/onednn/detail/instruction_set.hpp"

#include "cpu/engines.hpp"
#include "cpu/processor.hpp"

#include <oneapi/dnnl/dnnl.hpp>
#include <optional>

namespace troupe::cpu {

namespace {

/// Returns nothing if there is no limit.
std::optional<dnnl::cpu_isa> library_limit(IsaLimit limit) {
  switch (limit) {
  case IsaLimit::baseline:
    return dnnl::cpu_isa::sse41;
  case IsaLimit::avx2:
    return dnnl::cpu_isa::avx2;
  case IsaLimit::avx512:
    return dnnl::cpu_isa::avx512_core;
  case IsaLimit::best:
    break;
  }
  return std::nullopt;
}

/// The library's number of an instruction set has a bit for each set that it contains.
bool library_has(dnnl::cpu_isa wanted) {
  limit_library();
  const auto bits = static_cast<int>(wanted);
  return (static_cast<int>(dnnl::get_effective_cpu_isa()) & bits) == bits;
}

} // namespace

void limit_library() {
  [[maybe_unused]] static const bool told = [] {
    const auto limit = library_limit(isa_limit().value_or(IsaLimit::best));
    return !limit || dnnl::set_max_cpu_isa(*limit) == dnnl::status::success;
  }();
}

bool has_native_bf16() {
  // oneDNN uses matrix instructions or dot products, or emulates them with AVX-512.
  return library_has(dnnl::cpu_isa::avx512_core);
}

bool library_multiplies_bf16_fast() {
  return library_has(dnnl::cpu_isa::avx512_core_amx) || best_are_bf16_dot_products();
}

bool best_are_bf16_dot_products() {
  static const bool best = !library_has(dnnl::cpu_isa::avx512_core_amx) &&
                           library_has(dnnl::cpu_isa::avx512_core_bf16) && multiplies_bf16_fast();
  return best;
}

} // namespace troupe::cpu
