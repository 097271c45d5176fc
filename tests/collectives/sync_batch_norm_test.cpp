// Tests synchronized batch norm: ranks with shards of a batch, of any sizes, compute the same
// results as one rank with the whole batch.
#include "collectives/shared_device/shared_communicator.hpp"
#include "cpu/host_device.hpp"
#include "nn/builder.hpp"
#include "tests/devices/graph_values.hpp"
#include "tests/devices/op_cases.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace troupe;
using namespace troupe::testing;

namespace {

using Floats = std::vector<float>;

constexpr std::int64_t height = 6, width = 5, colours = 3, classes = 3, whole_batch = 8;

TensorId body(nn::GraphBuilder& b, TensorId x) {
  const auto first =
      b.relu("relu1", b.batch_norm("bn1", b.conv2d("conv1", x, 20, {3, 1, 1}), true));
  const auto second = b.batch_norm("bn2", b.conv2d("conv2", first, 20, {1, 1, 0}), true);
  const auto sum = b.relu("relu2", b.add("add", second, first));
  return b.batch_norm("bn3", b.conv2d("conv3", sum, 7, {3, 2, 1}), true);
}

nn::PreparedModel model(std::int64_t batch, bool fused, bool synchronized) {
  nn::PassOptions passes;
  passes.loss_rows = whole_batch;
  passes.sync_batch_norm = synchronized;
  if (fused)
    passes.fuse = nn::FusePatterns::all();
  return make_model({batch, height, width, colours}, body, passes);
}

float wave(std::size_t i) {
  const auto x = static_cast<double>(i);
  return static_cast<float>(std::sin(0.37 * x) + 0.5 * std::sin(0.011 * x) + 2);
}

/// An executable on `batch` images of the whole batch, starting with image `first`.
class Rank {
public:
  Rank(std::int64_t first, std::int64_t batch, Engine engine, nn::PreparedModel model)
      : graph_{std::move(model.graph)}, stream_{device_.create_stream({})} {
    auto made = device_.compile(graph_, {.engine = engine, .deterministic = true});
    REQUIRE(made);
    executable_ = std::move(*made);
    const auto& layout = executable_->layout();
    statistics_.resize(layout.statistic_elements);
    for (const auto elements : layout.unit_elements) {
      parameters_.emplace_back(elements);
      gradients_.emplace_back(elements);
    }
    for (const auto& slot : layout.parameters)
      store(slot, parameters_[static_cast<std::size_t>(slot.unit)]);
    for (const auto& slot : layout.statistics)
      store(slot, statistics_);
    constexpr auto pixels = static_cast<std::size_t>(height * width * colours);
    for (std::size_t i = 0; i < static_cast<std::size_t>(batch) * pixels; ++i)
      images_.push_back(wave(static_cast<std::size_t>(first) * pixels + i));
    for (auto i = first; i < first + batch; ++i)
      labels_.push_back(static_cast<std::int32_t>(i % classes));
    bind();
  }
  ~Rank() { (void)stream_->synchronize(); }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  Executable& executable() { return *executable_; }
  Stream& stream() { return *stream_; }
  void run() {
    executable_->run(*stream_);
    executable_->read_outputs(*stream_, &outputs_);
  }
  float loss() const { return outputs_["loss"]; }
  const Floats& statistics() const { return statistics_; }
  Floats gradient(const std::string& name) const {
    for (const auto& slot : executable_->layout().parameters)
      if (slot.name == name)
        return load(slot, gradients_[static_cast<std::size_t>(slot.unit)]);
    FAIL("there is no " << name);
    return {};
  }
  Floats tensor(const std::string& name) {
    const auto id = graph_.find(name);
    REQUIRE(id);
    Floats values(static_cast<std::size_t>(graph_[*id].shape.elements()));
    REQUIRE(executable_->read_tensor(*stream_, name, values));
    REQUIRE(stream_->synchronize());
    return values;
  }
  std::vector<std::string> parameter_names() const {
    std::vector<std::string> names;
    for (const auto& slot : executable_->layout().parameters)
      names.push_back(slot.name);
    return names;
  }

private:
  static void store(const Slot& slot, Floats& flat) {
    const auto values = initial_values(slot);
    const std::span<float> place{flat.data() + slot.offset, slot.elements};
    if (slot.codec)
      slot.codec->encode(values, place);
    else
      std::ranges::copy(values, place.begin());
  }
  static Floats load(const Slot& slot, const Floats& flat) {
    Floats values(static_cast<std::size_t>(slot.shape.elements()));
    const std::span<const float> place{flat.data() + slot.offset, slot.elements};
    if (slot.codec)
      slot.codec->decode(place, values);
    else
      std::ranges::copy(place, values.begin());
    return values;
  }
  void bind() {
    for (std::size_t unit = 0; unit < parameters_.size(); ++unit) {
      executable_->bind(static_cast<UnitId>(unit), parameters_[unit].data(),
                        gradients_[unit].data());
      executable_->refresh(*stream_, static_cast<UnitId>(unit));
    }
    executable_->bind_statistics(statistics_.data());
    REQUIRE(executable_->set_batch(
        at_addresses(executable_->batch(), {images_.data(), labels_.data()})));
  }

  cpu::HostDevice device_{0, 1};
  Graph graph_;
  std::unique_ptr<Executable> executable_;
  std::vector<Floats> parameters_, gradients_; ///< by unit
  Floats statistics_, images_;
  std::vector<std::int32_t> labels_;
  StepOutputs outputs_;
  std::unique_ptr<Stream>
      stream_; ///< last: it must be drained before the objects that it uses are destroyed
};

/// A group of ranks with the given numbers of images.
class NormGroup {
public:
  NormGroup(const std::vector<std::int64_t>& sizes, Engine engine, bool fused) {
    auto communicators = collectives::make_shared_group(static_cast<int>(sizes.size()),
                                                        std::chrono::milliseconds{20000});
    std::int64_t first = 0;
    for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
      ranks_.push_back(
          std::make_unique<Rank>(first, sizes[rank], engine, model(sizes[rank], fused, true)));
      ranks_.back()->executable().bind_sum_over_ranks(
          [group = std::shared_ptr{std::move(communicators[rank])}](Stream& stream, double* values,
                                                                    std::size_t count) {
            group->all_reduce(stream, {values, count, DType::f64});
          });
      first += sizes[rank];
    }
  }

  void run() {
    for (const auto& rank : ranks_)
      rank->run();
    for (const auto& rank : ranks_)
      REQUIRE(rank->stream().synchronize());
  }
  std::vector<std::unique_ptr<Rank>>& ranks() { return ranks_; }
  /// Returns the sum over ranks.
  Floats gradient(const std::string& name) const {
    auto sum = ranks_.front()->gradient(name);
    for (std::size_t rank = 1; rank < ranks_.size(); ++rank)
      std::ranges::transform(sum, ranks_[rank]->gradient(name), sum.begin(), std::plus{});
    return sum;
  }
  /// Returns the rows of all ranks, one rank after the other.
  Floats tensor(const std::string& name) {
    Floats all;
    for (const auto& rank : ranks_) {
      const auto part = rank->tensor(name);
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }

private:
  std::vector<std::unique_ptr<Rank>> ranks_;
};

/// Requires equality to 1e-5 of the largest value.
void require_same(const Floats& got, const Floats& expected) {
  REQUIRE(got.size() == expected.size());
  const auto magnitude = [](float a, float b) { return std::abs(a) < std::abs(b); };
  const float largest = std::abs(*std::ranges::max_element(expected, magnitude));
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i, got[i], expected[i], largest);
    REQUIRE(std::abs(got[i] - expected[i]) <= 1e-5f * largest + 1e-7f);
  }
}

} // namespace

TEST_CASE("ranks with synchronized batch norm match one rank with the whole batch") {
  const auto sizes = GENERATE(std::vector<std::int64_t>{8}, std::vector<std::int64_t>{4, 4},
                              std::vector<std::int64_t>{3, 5}, std::vector<std::int64_t>{1, 5, 2},
                              std::vector<std::int64_t>{1, 1, 1, 1, 1, 1, 1, 1});
  const auto engine = GENERATE(Engine::interpreter, Engine::fastest);
  const bool fused = GENERATE(false, true);
  CAPTURE(sizes, static_cast<int>(engine), fused);
  Rank whole{0, whole_batch, engine, model(whole_batch, fused, false)};
  NormGroup group{sizes, engine, fused};
  for (int pass = 0; pass < 2; ++pass) { // the second pass starts from the statistics of the first
    whole.run();
    REQUIRE(whole.stream().synchronize());
    group.run();
    const auto& first = *group.ranks().front();
    float loss = 0;
    for (const auto& rank : group.ranks()) {
      CHECK(rank->statistics() == first.statistics()); // bit for bit
      loss += rank->loss();
    }
    require_same({loss}, {whole.loss()});
    require_same(first.statistics(), whole.statistics());
    for (const auto& name : whole.parameter_names()) {
      CAPTURE(name);
      require_same(group.gradient(name), whole.gradient(name));
    }
    for (const auto* name : {"bn3", "fc"}) {
      CAPTURE(name);
      require_same(group.tensor(name), whole.tensor(name));
    }
  }
}

TEST_CASE("on a single rank, synchronized batch norm is batch norm") {
  const auto engine = GENERATE(Engine::interpreter, Engine::fastest);
  Rank plain{0, whole_batch, engine, model(whole_batch, true, false)};
  Rank alone{0, whole_batch, engine, model(whole_batch, true, true)};
  for (auto* const rank : {&plain, &alone}) {
    rank->run();
    REQUIRE(rank->stream().synchronize());
  }
  require_same(alone.statistics(), plain.statistics());
  for (const auto& name : plain.parameter_names()) {
    CAPTURE(name);
    require_same(alone.gradient(name), plain.gradient(name));
  }
}

TEST_CASE("a rank that waits for others' statistics fails when they fail") {
  Rank rank{0, 4, Engine::fastest, model(4, true, true)};
  const bool aborted = GENERATE(true, false);
  auto communicators =
      collectives::make_shared_group(2, std::chrono::milliseconds{aborted ? 20000 : 100});
  rank.executable().bind_sum_over_ranks([&](Stream& stream, double* values, std::size_t count) {
    communicators[0]->all_reduce(stream, {values, count, DType::f64});
  });
  rank.run();
  if (aborted)
    communicators[1]->abort({Errc::collective, "the other rank has failed"});
  const auto status = rank.stream().synchronize();
  REQUIRE_FALSE(status);
  CHECK(status.error().code == Errc::collective);
  CHECK(status.error().message.find(aborted ? "the other rank has failed"
                                            : "all_reduce #0 timed out after 100 ms") !=
        std::string::npos);
}
