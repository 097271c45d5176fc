// Tests access to the page of a training run from other hosts.
#include "tests/support/certificates.hpp"
#include "tests/support/tls_client.hpp"
#include "tests/system/experiment.hpp"

#include <catch2/catch_test_macros.hpp>

#include <csignal>
#include <memory>
#include <optional>

#include <ifaddrs.h>
#include <net/if.h>
#include <sys/stat.h>

using namespace troupe;
using namespace troupe::testing;

namespace {

const std::string with_password = "Authorization: Basic bWU6c2VjcmV0\r\n"; // me:secret

/// Returns an address of this host that is not on loopback: connections to it have it as their
/// source.
std::optional<in_addr> outer_address() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0)
    return std::nullopt;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owned{all, ::freeifaddrs};
  for (const auto* each = all; each; each = each->ifa_next)
    if (each->ifa_addr && each->ifa_addr->sa_family == AF_INET && (each->ifa_flags & IFF_UP) &&
        !(each->ifa_flags & IFF_LOOPBACK))
      return reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr;
  return std::nullopt;
}

/// Files that are needed to show the page to other hosts.
class PageFiles {
public:
  PageFiles() { set_password("secret\n", 0600); }

  void set_password(const std::string& text, mode_t mode) const {
    write_bytes(password(), text);
    ::chmod(password().c_str(), mode);
  }
  std::string password() const { return folder_ / "password"; }
  Settings password_setting() const { return {"metrics.password_file=" + password()}; }
  Settings tls_settings() const {
    const auto tls = certificates_.of("node");
    return {"cluster.tls.certificate=" + *tls.certificate, "cluster.tls.key=" + *tls.key,
            "cluster.tls.ca=" + *tls.ca};
  }

private:
  ScratchFolder folder_;
  Certificates certificates_;
};

const Settings endless = {"train.epochs=100000", "checkpoint.every=never"};

void end_watched(RunningProgram& program) {
  program.send(SIGTERM);
  CHECK(program.wait().code == 128 + SIGTERM);
}

} // namespace

TEST_CASE("with certificates and a password, a run's page is served over TLS to clients with the "
          "password") {
  const PageFiles files;
  const Experiment experiment{endless + files.tls_settings() + files.password_setting() +
                              Settings{"metrics.listen=0.0.0.0:0"}};
  auto program = experiment.start("watched");
  const auto port = metrics_port(program);
  const auto address = outer_address().value_or(in_addr{htonl(INADDR_LOOPBACK)});
  CHECK(https(Client{port, address}, "/metrics").status == 200);
  for (const auto* path : {"/", "/run.json", "/events", "/report.html"}) {
    CAPTURE(path);
    CHECK(https(Client{port, address}, path).status == 401);
  }
  CHECK(http(port, "/run.json").status == 401); // also on loopback
  CHECK(http(port, "/run.json", "GET", with_password).status == 200);
  const auto document =
      nlohmann::json::parse(https(Client{port, address}, "/run.json", with_password).body);
  CHECK(document.at("kind") == "run");
  CHECK(document.at("run").at("name") == "watched");
  CHECK(has(https(Client{port, address}, "/", with_password).body, "<html"));
  const Client client{port, address};
  const TlsClient follower{client};
  follower.send("GET /events HTTP/1.1\r\nHost: node\r\n" + with_password + "\r\n");
  CHECK(has(follower.receive_until("event: changes\ndata: {"), "event: document\ndata: {"));
  end_watched(program);
}

TEST_CASE("other hosts are told what they need for the page, and Prometheus is answered") {
  const auto address = outer_address();
  if (!address)
    SKIP("this host has no address but loopback's");
  const PageFiles files;
  const Experiment experiment{endless + Settings{"metrics.listen=0.0.0.0:0"}};
  auto open = experiment.start("open");
  auto with_key = experiment.start("with_key", files.password_setting());
  const auto answer = [&](std::uint16_t port, const std::string& path) {
    const Client client{port, *address};
    client.send("GET " + path + " HTTP/1.1\r\nHost: node\r\n\r\n");
    return HttpReply{client.receive_all()};
  };
  const auto of_open = metrics_port(open), of_key = metrics_port(with_key);
  CHECK(answer(of_open, "/metrics").status == 200);
  CHECK(answer(of_open, "/").status == 403);
  CHECK(has(answer(of_open, "/").body, "metrics.password_file"));
  CHECK(answer(of_key, "/run.json").status == 403);
  CHECK(has(answer(of_key, "/run.json").body, "cluster.tls"));
  CHECK(http(of_open, "/run.json").status == 200);
  end_watched(open);
  end_watched(with_key);
}

TEST_CASE(
    "a password file that cannot be used is refused at startup, with its key and the reason") {
  const PageFiles files;
  const Experiment experiment{files.password_setting()};
  const auto ends_with = [&](const std::string& why) {
    const auto ended = experiment.train("none");
    CAPTURE(ended.err);
    CHECK(ended.code == 2);
    CHECK(has(ended.err, "metrics.password_file: " + files.password() + ": " + why));
  };
  files.set_password("secret\n", 0644);
  ends_with("users other than its owner have access");
  files.set_password("", 0600);
  ends_with("it is empty");
  std::filesystem::remove(files.password());
  ends_with("No such file or directory");
}
