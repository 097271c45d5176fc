#include "actors/roles/data_loader.hpp"

#include "actors/roles/traced.hpp"

#include <numeric>

namespace troupe::actors {

DataLoaderState::DataLoaderState(data_loader_actor::pointer self, DataLoaderSetup setup)
    : self_{self}, setup_{std::move(setup)}, clients_(setup_.rank_states.size()) {
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    clients_[i].slice_assignment = setup_.slice_assignment;
    for (const auto pass_mode : {PassMode::training, PassMode::evaluation})
      if (const auto& producer = setup_.rank_states[i]->producers[index_of(pass_mode)]) {
        auto& free = clients_[i].supplies[index_of(pass_mode)].free;
        free.resize(static_cast<std::size_t>(producer->slots()));
        std::iota(free.rbegin(), free.rend(), 0);
      }
  }
}

data_loader_actor::behavior_type DataLoaderState::make_behavior() {
  return traced<data_loader_actor>(
      setup_.row,
      [this](atom::begin, std::int32_t rank, const worker_actor& worker, Pass first) {
        begin(rank, worker, first);
      },
      [this](atom::assign, std::int32_t rank, const data::SliceAssignment& next) {
        assign(rank, next);
      },
      [this](atom::fetch, std::int32_t rank, Pass pass) {
        auto& supply = client(rank).supplies[index_of(PassMode::training)];
        supply.next = pass;
        supply.end = pass + 1;
        fill(rank, PassMode::training);
      },
      [this](atom::evaluate, std::int32_t rank) {
        auto& supply = client(rank).supplies[index_of(PassMode::evaluation)];
        supply.next = 0;
        supply.end = producer(rank, PassMode::evaluation).sampler().steps_per_epoch();
        fill(rank, PassMode::evaluation);
      },
      [this](atom::credit, std::int32_t rank, const MicroBatchPtr& batch) {
        client(rank).supplies[index_of(batch->pass_mode)].free.push_back(batch->slot);
        fill(rank, batch->pass_mode);
      });
}

DataLoaderState::Client& DataLoaderState::client(std::int32_t rank) {
  return clients_[static_cast<std::size_t>(rank - setup_.rank_states.front()->rank)];
}

void DataLoaderState::begin(std::int32_t rank, const worker_actor& worker, Pass first) {
  client(rank).worker = worker;
  if (slice_assignment(rank).is_on_demand())
    return; // passes are fetched one by one
  auto& supply = client(rank).supplies[index_of(PassMode::training)];
  supply.next = first;
  supply.end = slice_assignment(rank).pass_of(setup_.steps);
  fill(rank, PassMode::training);
}

void DataLoaderState::assign(std::int32_t rank, const data::SliceAssignment& next) {
  client(rank).slice_assignment = next;
  begin(rank, client(rank).worker, next.first_pass());
}

void DataLoaderState::fill(std::int32_t rank, PassMode pass_mode) {
  auto& supply = client(rank).supplies[index_of(pass_mode)];
  while (!supply.free.empty() && supply.next < supply.end) {
    if (is_empty(rank, pass_mode, supply.next)) {
      ++supply.next;
      continue;
    }
    const auto slot = supply.free.back();
    supply.free.pop_back();
    self_->send(client(rank).worker, atom::batch_v, fill_one(rank, pass_mode, slot, supply.next++));
  }
}

bool DataLoaderState::is_empty(std::int32_t rank, PassMode pass_mode, std::int64_t index) {
  return pass_mode == PassMode::training && slice_assignment(rank).local_index(rank, index) < 0;
}

/// Precondition: it is not empty.
data::Slice DataLoaderState::slice(std::int32_t rank, PassMode pass_mode, std::int64_t index) {
  return pass_mode == PassMode::training ? *slice_assignment(rank).slice(rank, index)
                                         : data::Slice{rank, setup_.slice_assignment.world_size()};
}

training::BatchProducer& DataLoaderState::producer(std::int32_t rank, PassMode pass_mode) const {
  const auto index = static_cast<std::size_t>(rank - setup_.rank_states.front()->rank);
  return *setup_.rank_states[index]->producers[index_of(pass_mode)];
}

MicroBatchPtr DataLoaderState::fill_one(std::int32_t rank, PassMode pass_mode, std::int32_t slot,
                                        std::int64_t index) {
  const bool trains = pass_mode == PassMode::training;
  const auto step = trains ? slice_assignment(rank).step_of(index) : index;
  auto& by = producer(rank, pass_mode);
  auto batch = std::make_shared<training::MicroBatch>(
      by.fill(slot, by.sampler().position(step), slice(rank, pass_mode, index),
              failure_report(rank, trains ? step : -1)));
  batch->pass_mode = pass_mode;
  batch->index = index;
  return batch;
}

training::LoadFailed DataLoaderState::failure_report(std::int32_t rank, std::int64_t step) const {
  return [coordinator = setup_.coordinator, rank, step](Error error) {
    error.where.actor = name;
    error.where.rank = rank;
    error.where.step = step;
    caf::anon_send(coordinator, atom::failed_v, std::move(error));
  };
}

} // namespace troupe::actors
