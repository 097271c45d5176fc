#include "tests/collectives/conformance/group.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <algorithm>
#include <thread>
#include <utility>

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Calls fn(type, elements) for every type and for sizes that are not multiples of a block.
template <class Fn>
void for_types_and_sizes(Fn fn) {
  for (const auto type : every_type)
    for (const std::size_t elements : {0u, 1u, 7u, 1024u, 100003u}) {
      CAPTURE(to_string(type), elements);
      fn(type, elements);
    }
}

/// Returns the values of all ranks: the same numbers for each, or numbers by rank.
template <class Fn>
std::vector<DeviceValues> values_of(Group& group, DType type, Fn numbers) {
  std::vector<DeviceValues> all;
  for (std::size_t rank = 0; rank < group.size(); ++rank)
    all.emplace_back(group[rank], type, numbers(rank));
  return all;
}

/// Returns the whole_numbers of all ranks, one after the other.
Numbers gathered(std::size_t ranks, std::size_t elements) {
  Numbers all;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto part = whole_numbers(rank, elements);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

void check_all_reduce(Group& group, DType type, std::size_t elements) {
  const auto values =
      values_of(group, type, [&](std::size_t rank) { return whole_numbers(rank, elements); });
  for (std::size_t rank = 0; rank < group.size(); ++rank)
    group[rank].communicator->all_reduce(*group[rank].stream, values[rank].values());
  group.finish();
  const auto expected = sum_of_whole_numbers(group.size(), elements);
  for (const auto& each : values)
    REQUIRE(each.read() == expected);
}

void check_reduce_scatter(Group& group, DType type, std::size_t elements, bool in_place) {
  const auto ranks = group.size();
  const auto all = values_of(
      group, type, [&](std::size_t rank) { return whole_numbers(rank, ranks * elements); });
  const auto apart = values_of(group, type, [&](std::size_t) { return Numbers(elements); });
  for (std::size_t rank = 0; rank < ranks; ++rank)
    group[rank].communicator->reduce_scatter(*group[rank].stream, all[rank].data(),
                                             in_place ? all[rank].part(rank * elements, elements)
                                                      : apart[rank].values());
  group.finish();
  const auto sum = sum_of_whole_numbers(ranks, ranks * elements);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto begin = static_cast<std::ptrdiff_t>(rank * elements),
               end = static_cast<std::ptrdiff_t>((rank + 1) * elements);
    auto mine = apart[rank].read();
    if (in_place) {
      const auto whole = all[rank].read();
      mine.assign(whole.begin() + begin, whole.begin() + end);
    }
    REQUIRE(mine == Numbers(sum.begin() + begin, sum.begin() + end));
  }
}

void check_all_gather(Group& group, DType type, std::size_t elements, bool in_place) {
  const auto ranks = group.size();
  const auto mine =
      values_of(group, type, [&](std::size_t rank) { return whole_numbers(rank, elements); });
  const auto all = values_of(group, type, [&](std::size_t rank) {
    Numbers numbers(ranks * elements);
    if (in_place) {
      const auto own = whole_numbers(rank, elements);
      std::ranges::copy(own, numbers.begin() + static_cast<std::ptrdiff_t>(rank * elements));
    }
    return numbers;
  });
  for (std::size_t rank = 0; rank < ranks; ++rank)
    group[rank].communicator->all_gather(*group[rank].stream,
                                         in_place ? all[rank].part(rank * elements, elements)
                                                  : mine[rank].values(),
                                         all[rank].data());
  group.finish();
  for (const auto& each : all)
    REQUIRE(each.read() == gathered(ranks, elements));
}

void check_root(Group& group, DType type, std::size_t elements, std::size_t root) {
  const auto ranks = group.size();
  const auto own = [&](std::size_t rank) { return whole_numbers(rank, elements); };
  const auto sent = values_of(group, type, own), reduced = values_of(group, type, own),
             mine = values_of(group, type, own);
  DeviceValues all{group[root], type, Numbers(ranks * elements)};
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    auto& [device, communicator, stream] = group[rank];
    const int to = static_cast<int>(root);
    communicator->broadcast(*stream, sent[rank].values(), to);
    communicator->reduce(*stream, reduced[rank].values(), to);
    communicator->gather(*stream, mine[rank].values(), rank == root ? all.data() : nullptr, to);
  }
  group.finish();
  for (const auto& each : sent)
    REQUIRE(each.read() == own(root));
  REQUIRE(reduced[root].read() == sum_of_whole_numbers(ranks, elements));
  REQUIRE(all.read() == gathered(ranks, elements));
}

/// Sends the values of each rank to the next rank; even ranks send first.
void check_pairs(Group& group, DType type, std::size_t elements) {
  const auto ranks = group.size();
  const auto out =
      values_of(group, type, [&](std::size_t rank) { return whole_numbers(rank, elements); });
  const auto in = values_of(group, type, [&](std::size_t) { return Numbers(elements); });
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    auto& [device, communicator, stream] = group[rank];
    const auto next = static_cast<int>((rank + 1) % ranks),
               before = static_cast<int>((rank + ranks - 1) % ranks);
    if (rank % 2 == 0)
      communicator->send(*stream, out[rank].values(), next);
    communicator->receive(*stream, in[rank].values(), before);
    if (rank % 2 == 1)
      communicator->send(*stream, out[rank].values(), next);
  }
  group.finish();
  for (std::size_t rank = 0; rank < ranks; ++rank)
    REQUIRE(in[rank].read() == whole_numbers((rank + ranks - 1) % ranks, elements));
}

/// Shifts the values of all ranks at the same time; the sent values must not change.
void check_shift(Group& group, DType type, std::size_t elements, int distance) {
  const auto ranks = group.size();
  const auto mine =
      values_of(group, type, [&](std::size_t rank) { return whole_numbers(rank, elements); });
  const auto received = values_of(group, type, [&](std::size_t) { return Numbers(elements); });
  for (std::size_t rank = 0; rank < ranks; ++rank)
    group[rank].communicator->shift(*group[rank].stream, mine[rank].values(), received[rank].data(),
                                    distance);
  group.finish();
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto from = (rank + ranks - static_cast<std::size_t>(distance) % ranks) % ranks;
    REQUIRE(received[rank].read() == whole_numbers(from, elements));
    REQUIRE(mine[rank].read() == whole_numbers(rank, elements));
  }
}

} // namespace

TEST_CASE("all_reduce gives every rank the sum") {
  const int world = GENERATE(1, 2, 3, 4, 8);
  Group group{any_backend(world), world};
  for_types_and_sizes([&](DType type, std::size_t n) { check_all_reduce(group, type, n); });
}

TEST_CASE("reduce_scatter gives every rank its shard of the sum, in place or not") {
  const int world = GENERATE(1, 2, 3, 8);
  Group group{any_backend(world), world};
  for_types_and_sizes([&](DType type, std::size_t n) {
    check_reduce_scatter(group, type, n % 10007, true);
    check_reduce_scatter(group, type, n % 10007, false);
  });
}

TEST_CASE("all_gather gives every rank all shards, in place or not") {
  const int world = GENERATE(1, 2, 3, 8);
  Group group{any_backend(world), world};
  for_types_and_sizes([&](DType type, std::size_t n) {
    check_all_gather(group, type, n % 10007, true);
    check_all_gather(group, type, n % 10007, false);
  });
}

TEST_CASE("broadcast, reduce and gather work for every root") {
  const int world = GENERATE(1, 2, 3, 5);
  Group group{any_backend(world), world};
  for (int root = 0; root < world; ++root)
    for_types_and_sizes([&](DType type, std::size_t n) {
      check_root(group, type, n % 10007, static_cast<std::size_t>(root));
    });
}

TEST_CASE("send and receive work in a ring") {
  const int world = GENERATE(2, 3, 8);
  Group group{any_backend(world), world};
  for_types_and_sizes([&](DType type, std::size_t n) { check_pairs(group, type, n); });
}

TEST_CASE("shift moves every rank's values by any distance") {
  const int world = GENERATE(1, 2, 3, 5);
  Group group{any_backend(world), world};
  for (int distance = 0; distance <= world; ++distance)
    for_types_and_sizes([&](DType type, std::size_t n) { check_shift(group, type, n, distance); });
}

TEST_CASE("sums have the same bits on every rank and in every run") {
  const int world = GENERATE(2, 3, 8);
  const auto backend = any_backend(world);
  for (const auto type : {DType::f32, DType::bf16, DType::f16, DType::f64}) {
    CAPTURE(to_string(type), world);
    std::vector<std::vector<std::byte>> results;
    for (int run = 0; run < 2; ++run) {
      Group group{backend, world};
      const auto values =
          values_of(group, type, [](std::size_t rank) { return rough_numbers(rank, 10007); });
      for (std::size_t rank = 0; rank < group.size(); ++rank)
        group[rank].communicator->all_reduce(*group[rank].stream, values[rank].values());
      group.finish();
      for (const auto& each : values)
        results.push_back(each.bytes());
    }
    for (const auto& each : results)
      REQUIRE(each == results[0]);
  }
}

TEST_CASE("16-bit types are summed in f32 in the order of ranks and rounded once") {
  const int world = GENERATE(3, 8);
  const auto backend = any_backend(world);
  if (!backend.in_rank_order)
    return; // the backend passes on partial sums in the narrow type
  Group group{backend, world};
  for (const auto type : {DType::bf16, DType::f16}) {
    const auto values =
        values_of(group, type, [](std::size_t rank) { return rough_numbers(rank, 1000); });
    std::vector<float> sum(1000);
    for (const auto& each : values) {
      const auto numbers = each.read();
      for (std::size_t i = 0; i < sum.size(); ++i)
        sum[i] += static_cast<float>(numbers[i]);
    }
    for (std::size_t rank = 0; rank < group.size(); ++rank)
      group[rank].communicator->all_reduce(*group[rank].stream, values[rank].values());
    group.finish();
    const DeviceValues rounded{group[0], type, Numbers(sum.begin(), sum.end())};
    CHECK(values[0].bytes() == rounded.bytes());
  }
}

TEST_CASE("many operations in a row do not interfere") {
  Group group{any_backend(3), 3};
  const auto values = values_of(group, DType::f64, [](std::size_t) { return Numbers(50, 1.0); });
  for (int i = 0; i < 20; ++i)
    for (std::size_t rank = 0; rank < 3; ++rank)
      group[rank].communicator->all_reduce(*group[rank].stream, values[rank].values());
  group.finish();
  CHECK(values[2].read()[49] == 3486784401.0); // 3 to the power of 20
}

TEST_CASE("a barrier delays later work until every rank has reached it") {
  Group group{any_backend(3), 3};
  const DeviceValues values{group[0], DType::i32, {1}};
  for (std::size_t rank = 0; rank < 2; ++rank)
    group[rank].communicator->barrier(*group[rank].stream);
  const auto after = group[0].stream->record();
  std::this_thread::sleep_for(std::chrono::milliseconds{30});
  CHECK_FALSE(after->ready());
  group[2].communicator->barrier(*group[2].stream);
  group.finish();
  CHECK(after->ready());
}

TEST_CASE("ranks can be in several groups at once") {
  const auto backend = any_backend(4);
  // Rows {0, 1}, {2, 3} and columns {0, 2}, {1, 3} of a square.
  Group top{backend, Places{0, 1}}, bottom{backend, Places{2, 3}};
  auto left = backend.connect({0, 2}, long_time), right = backend.connect({1, 3}, long_time);
  const auto upper =
      values_of(top, DType::f32, [](std::size_t r) { return whole_numbers(r, 999); });
  const auto lower =
      values_of(bottom, DType::f32, [](std::size_t r) { return whole_numbers(r + 2, 999); });
  for (std::size_t i = 0; i < 2; ++i) {
    auto& column = i == 0 ? left : right;
    top[i].communicator->all_reduce(*top[i].stream, upper[i].values());
    bottom[i].communicator->all_reduce(*bottom[i].stream, lower[i].values());
    column[0]->all_reduce(*top[i].stream, upper[i].values());
    column[1]->all_reduce(*bottom[i].stream, lower[i].values());
  }
  top.finish();
  bottom.finish();
  for (const auto* row : {&upper, &lower})
    for (const auto& each : *row)
      CHECK(each.read() == sum_of_whole_numbers(4, 999));
}

TEST_CASE("the reported traffic is the minimum that a rank has to send") {
  Group group{any_backend(4), 4};
  const auto all = values_of(group, DType::f32, [](std::size_t) { return Numbers(400); });
  std::uint64_t before = 0;
  const auto sent_by = [&](auto call) {
    for (std::size_t rank = 0; rank < 4; ++rank)
      call(*group[rank].communicator, *group[rank].stream, all[rank]);
    group.finish();
    return group[0].communicator->traffic() -
           std::exchange(before, group[0].communicator->traffic());
  };
  const auto all_reduced = sent_by([](auto& c, auto& s, auto& v) { c.all_reduce(s, v.values()); });
  CHECK(all_reduced == 2 * 1600 * 3 / 4);
  const auto scattered =
      sent_by([](auto& c, auto& s, auto& v) { c.reduce_scatter(s, v.data(), v.part(0, 100)); });
  CHECK(scattered == 1600 * 3 / 4);
  const auto shifted = sent_by(
      [](auto& c, auto& s, auto& v) { c.shift(s, v.part(0, 100), v.part(200, 100).data, 2); });
  CHECK(shifted == 400);
}
