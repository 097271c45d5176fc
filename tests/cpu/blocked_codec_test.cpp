// Tests weights in oneDNN's blocked layouts.
#include "cpu/onednn/detail/codec.hpp"

#include <catch2/catch_test_macros.hpp>

#include <numeric>

using namespace troupe;

TEST_CASE("the layout of blocked weights places each element like oneDNN") {
  using Tag = dnnl::memory::format_tag;
  const cpu::Library library;
  const Shape shape{{5, 19, 3, 2}};
  std::vector<float> canonical(5 * 19 * 3 * 2);
  std::iota(canonical.begin(), canonical.end(), 1.0f);
  for (const auto tag : {Tag::oihw, Tag::hwio, Tag::Oihw16o, Tag::OIhw8i8o, Tag::OIhw16i16o}) {
    CAPTURE(static_cast<int>(tag));
    const dnnl::memory::desc stored{{5, 19, 3, 2}, dnnl::memory::data_type::f32, tag};
    const cpu::BlockedCodec codec{library, shape, stored};
    std::vector<float> by_library(stored.get_size() / sizeof(float), -1), by_layout = by_library;
    codec.encode(canonical, by_library);
    REQUIRE(codec.layout().fits(shape, by_layout.size()));
    codec.layout().encode(shape, canonical, by_layout);
    CHECK(by_layout == by_library);
  }
}
