// Ranks in processes of their own, one of which is killed in the middle.
#include "child_process.hpp"
#include "scratch_folder.hpp"

#include "troupe/collectives/gloo/gloo_communicator.hpp"
#include "troupe/core/atomic_file.hpp"
#include "troupe/core/fail.hpp"
#include "troupe/cpu/host_stream.hpp"

#include <catch2/catch_test_macros.hpp>

#include <deque>
#include <thread>

using namespace troupe;
using namespace troupe::testing;
using collectives::GlooOptions;
using std::chrono::steady_clock;

namespace {

/// Values as files of a folder.
class FolderStore final : public collectives::KeyValueStore {
public:
  explicit FolderStore(std::filesystem::path folder) : folder_{std::move(folder)} {}

  Status put(const std::string& key, std::vector<char> value) override {
    std::filesystem::create_directories((folder_ / key).parent_path());
    return write_file_atomically(folder_ / key, {value.data(), value.size()});
  }
  Result<std::vector<char>> wait(const std::string& key,
                                 std::chrono::milliseconds timeout) override {
    for (const auto end = steady_clock::now() + timeout; steady_clock::now() < end;) {
      if (std::filesystem::exists(folder_ / key)) {
        const auto bytes = read_bytes(folder_ / key);
        return std::vector<char>{bytes.begin(), bytes.end()};
      }
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    return fail(Errc::network, "no file {}", key);
  }

private:
  std::filesystem::path folder_;
};

/// All-reduces until it fails, at most `times`; tells of the first. Gives what went wrong.
std::string reduce_for_ever(const GlooOptions& options, FolderStore& store, int times, int output) {
  auto communicator = collectives::connect_gloo(options, store);
  if (!communicator)
    return communicator.error().to_string();
  cpu::HostStream stream{{.name = "communication"}};
  std::vector<float> values(200000);
  for (int i = 0; i < times; ++i) {
    values.assign(values.size(), static_cast<float>(options.rank + 1));
    (*communicator)->all_reduce(stream, {values.data(), values.size()});
    if (const auto status = stream.synchronize(); !status)
      return status.error().to_string();
    const auto world = static_cast<float>(options.world_size), sum = world * (world + 1) / 2;
    if (values.front() != sum || values.back() != sum)
      return "a wrong sum";
    if (i == 0)
      write_text(output, "began\n");
  }
  return "no error";
}

} // namespace

TEST_CASE("a process that is killed fails the others, who go on without it") {
  const ScratchFolder folder;
  std::deque<ChildProcess> ranks;
  for (int rank = 0; rank < 3; ++rank)
    ranks.emplace_back([&, rank](int output) {
      FolderStore store{folder.path()};
      const auto error =
          reduce_for_ever({.rank = rank, .world_size = 3, .group = "1"}, store, 1000000, output);
      write_text(output, error + "\n");
      const GlooOptions survivors{.rank = rank == 0 ? 0 : 1, .world_size = 2, .group = "2"};
      write_text(output, "then " + reduce_for_ever(survivors, store, 5, output) + "\n");
    });
  for (const auto& rank : ranks)
    REQUIRE(rank.wait_for_first_output(60000));
  const auto begin = steady_clock::now();
  ranks[1].kill();
  for (const std::size_t survivor : {0u, 2u}) {
    const auto text = ranks[survivor].wait_for_output();
    INFO(text);
    CHECK(text.find("collective: all_reduce #") != std::string::npos);
    CHECK(text.find("rank ") != std::string::npos);
    CHECK(text.find("then no error") != std::string::npos);
  }
  CHECK(steady_clock::now() - begin < std::chrono::seconds{25}); // the timeout is 30 s
}
