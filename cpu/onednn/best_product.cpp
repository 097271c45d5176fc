#include "../best_product.hpp"

#include "../host_device.hpp"
#include "detail/matrix_product.hpp"
#include "troupe/core/fail.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace troupe::cpu {

namespace {

/// c = a * b, again and again.
class MeasuredProduct {
public:
  MeasuredProduct(DType type, int threads) : rows_{rows_of_thread * threads}, type_{type} {}

  Status allocate(HostDevice& device) {
    for (auto* const matrix : {&a_, &b_, &c_}) {
      const auto elements = matrix == &b_ ? side * side : rows_ * side;
      TROUPE_TRY(*matrix, device.allocate(static_cast<std::size_t>(elements) * size_of(type_),
                                          MemoryKind::workspace));
      // Numbers: products of values that are almost none, or no numbers, may take longer.
      std::fill_n((*matrix)->data(), (*matrix)->bytes(), std::byte{0x3f});
    }
    return {};
  }

  /// Operations a second, at best.
  double measure() const {
    const Library library;
    const MatrixProduct product{library,
                                {rows_, side, false, type_},
                                {side, side, false, type_},
                                {rows_, side, false, type_}};
    std::vector<std::byte> scratch(product.scratchpad_bytes());
    auto shortest = std::chrono::duration<double>::max();
    const auto begin = Clock::now();
    for (int tries = 0; tries < fewest_tries || Clock::now() - begin < enough; ++tries) {
      const auto start = Clock::now();
      product.run(a_->data(), b_->data(), c_->data(), scratch.data());
      shortest = std::min<std::chrono::duration<double>>(shortest, Clock::now() - start);
    }
    return 2.0 * static_cast<double>(rows_ * side * side) / shortest.count();
  }

private:
  using Clock = std::chrono::steady_clock;

  static constexpr auto enough = std::chrono::milliseconds{25};
  static constexpr int fewest_tries = 3; ///< the first one makes the threads of the product
  /// Large enough for all threads, and small enough for their caches.
  static constexpr std::int64_t rows_of_thread = 384, side = 768;

  std::int64_t rows_;
  DType type_;
  BufferPtr a_, b_, c_;
};

} // namespace

Result<double> best_product(DType type, int threads) {
  HostDevice device{0, threads};
  MeasuredProduct product{type, threads};
  TROUPE_TRY(product.allocate(device));
  double best = 0;
  HostStream stream{StreamOptions{.name = "peak", .threads = threads}}; // its threads end with it
  stream.enqueue_for_library([&] {
    best = product.measure();
    return Status{};
  });
  TROUPE_TRY(stream.synchronize());
  return best;
}

} // namespace troupe::cpu
