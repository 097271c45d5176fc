#include "actors/roles/data_loader.hpp"

#include "actors/roles/traced.hpp"

#include <algorithm>
#include <numeric>

namespace troupe::actors {

namespace {

std::size_t index_of(Purpose purpose) {
  return static_cast<std::size_t>(purpose);
}

} // namespace

std::int64_t labelled_samples(const data::BatchAssembler& evaluation, int rank, std::int64_t index,
                              std::int64_t slice_samples) {
  const auto& options = evaluation.sampler().options();
  const auto first = index * options.global_batch + rank * slice_samples;
  return std::clamp<std::int64_t>(options.size - first, 0, slice_samples);
}

DataLoaderState::DataLoaderState(data_loader_actor::pointer self, DataLoaderSetup setup)
    : self_{self}, setup_{std::move(setup)}, clients_(setup_.replicas.size()) {
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    const auto make_credits = [](Supply& supply,
                                 const std::shared_ptr<engine::BatchFiller>& filler) {
      supply.free.resize(filler ? static_cast<std::size_t>(filler->slots()) : 0);
      std::iota(supply.free.rbegin(), supply.free.rend(), 0);
    };
    clients_[i].dealing = setup_.dealing;
    make_credits(clients_[i].supplies[index_of(Purpose::training)], setup_.fillers[i].training);
    make_credits(clients_[i].supplies[index_of(Purpose::evaluation)], setup_.fillers[i].evaluation);
  }
}

data_loader_actor::behavior_type DataLoaderState::make_behavior() {
  return traced<data_loader_actor>(
      setup_.row,
      [this](atom::begin, std::int32_t rank, const worker_actor& worker, Pass first) {
        begin(rank, worker, first);
      },
      [this](atom::deal, std::int32_t rank, const Redealing& next) { deal(rank, next); },
      [this](atom::fetch, std::int32_t rank, Pass pass) {
        auto& supply = client(rank).supplies[index_of(Purpose::training)];
        supply.next = pass;
        supply.end = pass + 1;
        fill(rank, Purpose::training);
      },
      [this](atom::evaluate, std::int32_t rank) {
        auto& supply = client(rank).supplies[index_of(Purpose::evaluation)];
        supply.next = 0;
        supply.end = setup_.evaluation->sampler().steps_per_epoch();
        fill(rank, Purpose::evaluation);
      },
      [this](atom::credit, std::int32_t rank, const MicroBatchPtr& batch) {
        client(rank).supplies[index_of(batch->purpose)].free.push_back(batch->slot);
        fill(rank, batch->purpose);
      });
}

DataLoaderState::Client& DataLoaderState::client(std::int32_t rank) {
  return clients_[static_cast<std::size_t>(rank - setup_.replicas.front()->rank)];
}

void DataLoaderState::begin(std::int32_t rank, const worker_actor& worker, Pass first) {
  client(rank).worker = worker;
  if (dealing(rank).is_leased())
    return; // each is fetched
  auto& supply = client(rank).supplies[index_of(Purpose::training)];
  supply.next = first;
  supply.end = dealing(rank).pass_of(setup_.steps);
  fill(rank, Purpose::training);
}

void DataLoaderState::deal(std::int32_t rank, const Redealing& next) {
  auto& mine = client(rank);
  mine.dealing = mine.dealing.followed_by(next.counts, next.step, next.pass);
  begin(rank, mine.worker, next.pass);
}

void DataLoaderState::fill(std::int32_t rank, Purpose purpose) {
  auto& supply = client(rank).supplies[index_of(purpose)];
  while (!supply.free.empty() && supply.next < supply.end) {
    if (is_empty(rank, purpose, supply.next)) {
      ++supply.next;
      continue;
    }
    const auto slot = supply.free.back();
    supply.free.pop_back();
    self_->send(client(rank).worker, atom::batch_v, fill_one(rank, purpose, slot, supply.next++));
  }
}

bool DataLoaderState::is_empty(std::int32_t rank, Purpose purpose, std::int64_t index) {
  return purpose == Purpose::training && dealing(rank).turn(rank, index) < 0;
}

/// Precondition: it is not empty.
data::Slice DataLoaderState::slice(std::int32_t rank, Purpose purpose, std::int64_t index) {
  return purpose == Purpose::training ? *dealing(rank).slice(rank, index)
                                      : data::Slice{rank, setup_.dealing.world_size()};
}

engine::BatchFiller& DataLoaderState::filler(std::int32_t rank, Purpose purpose) const {
  const auto& fillers =
      setup_.fillers[static_cast<std::size_t>(rank - setup_.replicas.front()->rank)];
  return purpose == Purpose::training ? *fillers.training : *fillers.evaluation;
}

MicroBatchPtr DataLoaderState::fill_one(std::int32_t rank, Purpose purpose, std::int32_t slot,
                                        std::int64_t index) {
  const bool train = purpose == Purpose::training;
  const auto step = train ? dealing(rank).step_of(index) : -1;
  const auto at = train ? setup_.training->sampler().position(step) : data::Position{0, index};
  const auto part = slice(rank, purpose, index);
  auto& with = filler(rank, purpose);
  auto filling = with.fill(slot, at, part, failure_report(rank, step));

  auto batch = std::make_shared<engine::MicroBatch>();
  batch->purpose = purpose;
  batch->index = index;
  batch->slot = slot;
  batch->samples = train ? setup_.training->sampler().slice_size(part).value()
                         : labelled_samples(*setup_.evaluation, rank, index, with.samples());
  batch->view = filling.view;
  batch->ready = std::move(filling.ready);
  return batch;
}

engine::BatchFiller::Failed DataLoaderState::failure_report(std::int32_t rank,
                                                            std::int64_t step) const {
  return [coordinator = setup_.coordinator, rank, step](Error error) {
    error.where.actor = name;
    error.where.rank = rank;
    error.where.step = step;
    caf::anon_send(coordinator, atom::failed_v, std::move(error));
  };
}

} // namespace troupe::actors
