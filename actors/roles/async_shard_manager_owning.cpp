// Of an asynchronous SHARD MANAGER, what becomes of its shard: mail comes in, and one step after
// the other is applied.
#include "actors/roles/async_shard_manager.hpp"
#include "actors/roles/detail/announce.hpp"
#include "core/fail.hpp"

namespace troupe::actors {

using collectives::Mail;
using collectives::MailPtr;
using engine::Letter;
using metrics::CollectiveKind;

void AsyncShardManagerState::open(const MailPtr& mail) {
  if (const auto fits = check(*mail); !fits)
    return fail(fits.error());
  switch (engine::kind_of(*mail)) {
  case Letter::pull:
    return answer_pull(*mail);
  case Letter::parameters:
    return take_parameters(mail);
  case Letter::gradients:
    return take_gradients(mail);
  case Letter::statistics:
    return take_statistics(mail);
  case Letter::copy:
    buddys_[engine::step_of(*mail)] = mail;
    return go_on();
  }
}

Status AsyncShardManagerState::check(const Mail& mail) const {
  TROUPE_TRY(engine::check_letter(
      mail, rules_,
      {.version = owner_->version(), .published = owner_->published(), .read = reader_.read()}));
  if (awaits(mail))
    return {};
  return failure(engine::wrong_letter(mail, "which nobody awaits"));
}

/// Of letters that may come at this time: whether this one has not come yet.
bool AsyncShardManagerState::awaits(const Mail& mail) const {
  switch (engine::kind_of(mail)) {
  case Letter::pull:
    return true;
  case Letter::parameters:
    return asked_.contains(mail.from);
  case Letter::gradients:
    return !owner_->has(engine::Gradients::of(mail));
  case Letter::statistics:
    return !statistics_.contains(engine::step_of(mail));
  case Letter::copy:
    return !buddys_.contains(engine::step_of(mail));
  }
  return false;
}

void AsyncShardManagerState::answer_pull(const Mail& pull) {
  const auto asked = engine::Pull::of(pull);
  const auto at = owner_->point_for(asked.wanted);
  auto answer = engine::Parameters{at}.to_mail();
  if (asked.have == at)
    return send(std::move(answer), pull.from);
  auto values = owner_->parameters(at);
  if (!values)
    return fail(values.error());
  answer.values = *std::move(values);
  answer.bytes = answer.values->bytes();
  if (pull.from != replica().rank)
    count(CollectiveKind::all_gather, answer.bytes);
  if (at.predicted == 0)
    return send(std::move(answer), pull.from);
  send_when_copied(std::move(answer), pull.from);
}

void AsyncShardManagerState::take_gradients(const MailPtr& mail) {
  owner_->add(mail);
  go_on();
}

void AsyncShardManagerState::take_statistics(const MailPtr& mail) {
  const auto step = engine::step_of(*mail);
  replica().device().copy(owner_->stream(), state().committed_statistics(step),
                          mail->values->data(), mail->bytes);
  owner_->stream().on_complete([mail](const Status&) {}); // it lives so long
  statistics_.insert(step);
  go_on();
}

void AsyncShardManagerState::go_on() {
  const auto step = owner_->version();
  const bool has_statistics = !state().commits_statistics() || statistics_.contains(step);
  if (stage_ == Stage::summing && owner_->is_whole() && has_statistics)
    take();
  if (stage_ == Stage::taken && (!state().buddy() || buddys_.contains(step)))
    find();
}

void AsyncShardManagerState::take() {
  stage_ = Stage::taken;
  statistics_.erase(owner_->version());
  owner_->take();
  if (!setup_.buddy)
    return;
  auto values = owner_->copy_of_gradients();
  if (!values)
    return fail(values.error());
  auto mail = engine::mail_of_step(Letter::copy, owner_->version());
  mail.values = *std::move(values);
  mail.bytes = mail.values->bytes();
  count(CollectiveKind::buddy, mail.bytes);
  send_when_copied(std::move(mail), *setup_.buddy);
}

/// When the owner's stream has come so far.
void AsyncShardManagerState::send_when_copied(Mail mail, int to) {
  mail.from = replica().rank;
  mail.to = to;
  owner_->stream().on_complete(
      [post = setup_.post, mail = std::move(mail)](const Status& status) mutable {
        if (status)
          post->send(std::move(mail));
      });
}

void AsyncShardManagerState::find() {
  stage_ = Stage::finding;
  if (const auto buddys = buddys_.extract(owner_->version()))
    owner_->keep_buddys(buddys.mapped());
  found_ = std::make_shared<engine::StepFindings>();
  if (!owner_->finds())
    return prepare({.step = owner_->version()}); // the others ask nothing, either
  owner_->find(found_.get());
  announce(me(), owner_->stream(), atom::propose_v, owner_->version(), found_);
}

void AsyncShardManagerState::prepare(const StepFound& of_all) {
  stage_ = Stage::preparing;
  of_all_ = std::make_shared<engine::StepFindings>();
  of_all_->squared_norm = of_all.squared_norm;
  of_all_->loss_scale.found_inf = of_all.found_inf;
  owner_->prepare(of_all_.get());
  announce(me(), owner_->stream(), atom::vote_v, of_all.step, of_all_);
}

void AsyncShardManagerState::apply(std::int64_t step) {
  stage_ = Stage::applying;
  auto reads = owner_->apply(found_);
  if (!reads)
    return fail(reads.error());
  reads_ = *std::move(reads);
  announce(me(), owner_->stream(), atom::done_v, step, found_);
}

void AsyncShardManagerState::finish_step(std::int64_t step) {
  owner_->settle();
  if (const auto sound = check_scale(); !sound)
    return fail(sound.error());
  replica().before.reset(); // all have come this far
  stage_ = Stage::summing;
  self_->send(setup_.saver.coordinator, atom::step_committed_v, report(step));
  sent_ = {};
  go_on();
}

StepReport AsyncShardManagerState::report(std::int64_t step) const {
  StepReport report{.rank = replica().rank, .worker = {.step = step}, .collectives = sent_};
  report.memory = replica().device().memory();
  report.squared_norm = of_all_->squared_norm;
  report.reads = reads_;
  if (state().loss_scale()) {
    const auto& scaler = found_->loss_scale;
    report.loss_scale = scaler.scale;
    report.skipped_steps = scaler.skipped;
    report.scale_growths = scaler.grown;
  }
  return report;
}

/// Losses that are not finite are steps to skip while a smaller scale may help.
Status AsyncShardManagerState::check_scale() const {
  if (owner_->scale() >= 1)
    return {};
  return troupe::fail(Errc::numeric,
                      "gradients are not finite, and the loss scale has fallen to {}",
                      owner_->scale());
}

} // namespace troupe::actors
