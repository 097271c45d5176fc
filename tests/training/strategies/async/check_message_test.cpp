// Tests which messages of other ranks a parameter server shard accepts, and the reasons for which
// it refuses others.
#include "training/strategies/async/check_message.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cmath>

using namespace troupe;
using namespace troupe::training;
using Catch::Matchers::ContainsSubstring;
using collectives::Message;

namespace {

/// Rank 0 of three, in a job that began with version 4, is now at version 5 and allows a staleness
/// of 2. It has shards of 48 and 32 elements, and a shard of 16 elements that is not trained.
struct Receiver {
  std::vector<std::size_t> units = {48, 96, 144};
  FlatPlan plan = plan_flat(wrap_by_size(units, 1), units, 3);
  MessageRules rules{.plan = &plan,
                     .absent = {false, false, true},
                     .ranks = 3,
                     .slices = 4,
                     .staleness = 2,
                     .first = 4,
                     .statistic_elements = 6,
                     .copies_from = 2,
                     .scales_loss = true};
  std::vector<ParameterVersion> read = {{5}, {4}, {}};

  Status check(const Message& message) const {
    return check_message(message, rules, {.version = 5, .published = 5, .read = read});
  }
  /// Checks that a message is refused with this reason and names its sender.
  void refuses(const Message& message, const std::string& reason) const {
    CAPTURE(reason);
    const auto checked = check(message);
    REQUIRE_FALSE(checked);
    CHECK(checked.error().code == Errc::network);
    CHECK(checked.error().where.rank == message.from);
    CHECK_THAT(checked.error().message, ContainsSubstring(reason));
  }
};

Message from(int rank, Message message, std::size_t elements = 0) {
  message.from = rank;
  message.bytes = elements * sizeof(float);
  return message;
}

Message pull(Version have, std::int64_t predicted = 0, Version wanted = 5,
             std::int64_t arrived = 0) {
  return Pull{{have, predicted, arrived}, wanted}.to_message();
}

Message parameters(Version version, std::int64_t predicted = 0, std::int64_t arrived = 0) {
  return Parameters{{version, predicted, arrived}}.to_message();
}

const Gradients default_value{.step = 5, .slice = 3, .bucket = 0, .read = 5, .scale = 1024};

Message changed(void (*change)(Gradients&), std::size_t elements = 48) {
  auto gradients = default_value;
  change(gradients);
  return from(1, gradients.to_message(), elements);
}

/// Returns a message with another number in its header, in the width of the header.
Message with_number(std::size_t place, std::int64_t number) {
  auto message = from(1, default_value.to_message(), 48);
  message.header[place] = number;
  return message;
}

} // namespace

TEST_CASE("valid messages are accepted") {
  const Receiver owner;
  for (const auto& message :
       {from(1, pull(-1)), from(1, pull(5)), from(0, parameters(5)), from(1, parameters(4)),
        from(1, parameters(6), 96), from(2, parameters(4), 96),
        from(1, default_value.to_message(), 48), changed([](Gradients& of) { of.step = 7; }),
        changed([](Gradients& of) { of.step = 6, of.read = 4; }),
        changed([](Gradients& of) { of.bucket = 1; }, 32),
        from(2, message_of_step(MessageKind::statistics, 7), 6),
        from(2, message_of_step(MessageKind::copy, 6), 96)}) {
    CAPTURE(message.header);
    CHECK(owner.check(message));
  }
}

TEST_CASE("invalid gradients are refused with the reason and their rank") {
  const Receiver owner;
  owner.refuses(changed([](Gradients& of) { of.step = 4; }),
                "rank 1 has sent gradients of step 4; expected a step from 5 to 7");
  owner.refuses(changed([](Gradients& of) { of.step = 8; }), "of step 8");
  owner.refuses(changed([](Gradients& of) { of.slice = 4; }), "of slice 4, but there are 4");
  owner.refuses(changed([](Gradients& of) { of.slice = -1; }), "of slice -1");
  owner.refuses(changed([](Gradients& of) { of.bucket = 3; }), "of bucket 3, but there are 3");
  owner.refuses(changed([](Gradients& of) { of.bucket = 2; }, 16), "has no trained parameters");
  owner.refuses(changed([](Gradients& of) { of.read = 6; }),
                "of version 6; expected a version from 4 to 5");
  owner.refuses(changed([](Gradients& of) { of.read = 3; }), "of version 3");
  owner.refuses(changed([](Gradients& of) { of.step = 7, of.read = 4; }), "from 5 to 5");
  for (const auto scale : {0.0f, -1.0f, INFINITY, NAN}) {
    auto gradients = default_value;
    gradients.scale = scale;
    owner.refuses(from(1, gradients.to_message(), 48), "an invalid scale");
  }
  for (const std::size_t elements : {0u, 47u, 49u})
    owner.refuses(from(1, default_value.to_message(), elements), "not 192");
  // Numbers are not truncated to a narrower type.
  owner.refuses(with_number(2, std::int64_t{1} << 32), "of slice 4294967296");
  owner.refuses(with_number(3, INT64_MIN), "of bucket");
  owner.refuses(with_number(1, INT64_MIN), "of step");
  owner.refuses(with_number(1, INT64_MAX), "of step");
}

TEST_CASE("an unscaled loss has the scale 1") {
  Receiver owner;
  owner.rules.scales_loss = false;
  CHECK(owner.check(changed([](Gradients& of) { of.scale = 1; })));
  owner.refuses(from(1, default_value.to_message(), 48), "an invalid scale, 1024");
}

TEST_CASE("other invalid messages are refused") {
  Receiver owner;
  owner.refuses(from(1, pull(6)), "a request for parameters of version 6");
  owner.refuses(from(1, pull(-2)), "of version -2");
  owner.refuses(from(1, pull(5), 96), "with 384 bytes of values, not 0");
  owner.refuses(from(1, parameters(3), 96), "parameters of version 3");
  owner.refuses(from(1, parameters(7), 96), "expected a version from 4 to 6");
  owner.refuses(from(1, parameters(5), 95), "not 384");
  owner.refuses(from(1, parameters(4), 96), "not 0"); // this version has arrived
  owner.refuses(from(2, parameters(4)), "not 384");   // this version has not
  owner.refuses(from(2, message_of_step(MessageKind::statistics, 4), 6), "statistics of step 4");
  owner.refuses(from(2, message_of_step(MessageKind::statistics, 5), 7), "not 24");
  owner.refuses(from(2, message_of_step(MessageKind::copy, 7), 96),
                "a copy of gradients of step 7");
  owner.refuses(from(2, message_of_step(MessageKind::copy, 5), 48), "not 384");
  owner.refuses(from(1, message_of_step(MessageKind::copy, 5), 96), "that this rank does not keep");
  owner.refuses(from(1, message_of_step(MessageKind{77}, 5)), "a message of type 77");
  owner.rules.statistic_elements = 0;
  owner.refuses(from(2, message_of_step(MessageKind::statistics, 5)),
                "that the model does not have");
  owner.rules.copies_from.reset();
  owner.refuses(from(2, message_of_step(MessageKind::copy, 5), 96), "that this rank does not keep");
}

TEST_CASE("a message may predict parameters by no more steps than are in flight") {
  Receiver owner;
  owner.refuses(from(1, pull(5, 1)), "predicted by 1 steps; expected 0 to 0");
  owner.refuses(from(1, parameters(5, 1), 96), "predicted by 1 steps");
  owner.rules.predicts = true;
  for (const auto& message : {from(1, pull(5, 2, 7)), from(1, pull(5, 0, 0)),
                              from(1, parameters(5, 2), 96), from(1, parameters(4, 1), 96)})
    CHECK(owner.check(message));
  owner.refuses(from(1, pull(5, 3)), "predicted by 3 steps; expected 0 to 2");
  owner.refuses(from(1, parameters(5, -1), 96), "predicted by -1 steps");
  owner.refuses(from(1, pull(5, 0, 8)), "for step 8; expected a step from 0 to 7");
  owner.refuses(from(1, pull(5, 0, -1)), "for step -1");
  owner.read[1] = {5, 1, 3};
  CHECK(owner.check(from(1, parameters(5, 1, 3))));
  owner.refuses(from(1, parameters(5, 2, 3)), "with 0 bytes of values, not 384");
  owner.refuses(from(1, parameters(5, 1, 4)), "with 0 bytes of values, not 384");
  const auto most = owner.rules.slices * std::ssize(owner.rules.plan->buckets);
  CHECK(owner.check(from(1, pull(5, 1, 5, most))));
  owner.refuses(from(1, pull(5, 1, 5, most + 1)), "gradients; expected 0 to");
  owner.refuses(from(1, parameters(5, 0, 1), 96), "predicted with 1 gradients");
}

TEST_CASE("messages of unknown ranks are attributed to no rank") {
  const Receiver owner;
  for (const int rank : {-1, 3}) {
    const auto checked = owner.check(from(rank, pull(5)));
    REQUIRE_FALSE(checked);
    CHECK(checked.error().code == Errc::collective);
    CHECK(checked.error().where.rank == -1);
  }
}
