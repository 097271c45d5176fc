#include "actors/roles/data_loader.hpp"

#include "actors/roles/traced.hpp"

#include <numeric>
#include <optional>

namespace troupe::actors {

DataLoaderState::DataLoaderState(data_loader_actor::pointer self, DataLoaderSetup setup)
    : self_{self}, setup_{std::move(setup)} {
  for (const auto& rank_state : setup_.rank_states) {
    auto& client = clients_.emplace_back(Client{rank_state});
    for (const auto pass_mode : {PassMode::training, PassMode::evaluation})
      if (const auto& producer = rank_state->producers[index_of(pass_mode)]) {
        auto& free = client.supplies[index_of(pass_mode)].free;
        free.resize(static_cast<std::size_t>(producer->slots()));
        std::iota(free.rbegin(), free.rend(), 0);
      }
  }
}

data_loader_actor::behavior_type DataLoaderState::make_behavior() {
  return traced<data_loader_actor>(
      setup_.row,
      [this](atom::begin, std::int32_t rank, const worker_actor& worker,
             const data::SliceAssignment& next, Pass first) {
        client(rank).worker = worker;
        client(rank).slice_assignment = next;
        if (!next.is_on_demand()) // else passes are fetched one by one
          fill(client(rank), PassMode::training, first, next.pass_of(setup_.steps));
      },
      [this](atom::fetch, std::int32_t rank, PassMode pass_mode, std::int64_t first,
             std::int64_t end) { fill(client(rank), pass_mode, first, end); },
      [this](atom::credit, std::int32_t rank, const MicroBatchPtr& batch) {
        client(rank).supplies[index_of(batch->pass_mode)].free.push_back(batch->slot);
        fill(client(rank), batch->pass_mode);
      });
}

DataLoaderState::Client& DataLoaderState::client(std::int32_t rank) {
  return clients_[static_cast<std::size_t>(rank - setup_.rank_states.front()->rank)];
}

void DataLoaderState::fill(Client& client, PassMode pass_mode, std::int64_t first,
                           std::int64_t end) {
  auto& supply = client.supplies[index_of(pass_mode)];
  supply.next = first;
  supply.end = end;
  fill(client, pass_mode);
}

void DataLoaderState::fill(Client& client, PassMode pass_mode) {
  auto& supply = client.supplies[index_of(pass_mode)];
  const auto rank = client.rank_state->rank;
  const auto& assignment = client.slice_assignment;
  for (; !supply.free.empty() && supply.next < supply.end; ++supply.next) {
    const auto slice = pass_mode == PassMode::training
                           ? assignment.slice(rank, supply.next)
                           : std::optional{data::Slice{rank, assignment.world_size()}};
    if (!slice) // the pass is empty
      continue;
    const auto slot = supply.free.back();
    supply.free.pop_back();
    self_->send(client.worker, atom::batch_v,
                fill_one(client, pass_mode, slot, supply.next, *slice));
  }
}

MicroBatchPtr DataLoaderState::fill_one(const Client& client, PassMode pass_mode, std::int32_t slot,
                                        std::int64_t index, const data::Slice& slice) const {
  const bool trains = pass_mode == PassMode::training;
  const auto step = trains ? client.slice_assignment.step_of(index) : index;
  auto& producer = *client.rank_state->producers[index_of(pass_mode)];
  const auto report = [coordinator = setup_.coordinator, rank = client.rank_state->rank,
                       failed_at = trains ? step : -1](Error error) {
    error.where.actor = name;
    error.where.rank = rank;
    error.where.step = failed_at;
    caf::anon_send(coordinator, atom::failed_v, std::move(error));
  };
  auto batch = std::make_shared<training::MicroBatch>(
      producer.fill(slot, producer.sampler().position(step), slice, report));
  batch->pass_mode = pass_mode;
  batch->index = index;
  return batch;
}

} // namespace troupe::actors
