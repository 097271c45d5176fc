/// Totals of a process's actors and loader threads, for Prometheus.
#pragma once

#include "metrics/records/field.hpp"

#include <cstdint>
#include <string>
#include <tuple>

namespace troupe::metrics {

/// Totals since the process began, over all actors of one role.
struct MailboxSample {
  std::string actor;
  std::int64_t size = 0; ///< waiting messages now
  std::int64_t messages = 0;
  double seconds = 0; ///< total waiting time of messages
  double processing_seconds = 0;
};

template <>
inline constexpr auto fields_of<MailboxSample> = std::tuple{
    field("size", &MailboxSample::size,
          {.metric = names::metric("troupe_mailbox_size", names::gauge, names::every_node,
                                   "Messages waiting in the mailbox", "actor")}),
    field("messages", &MailboxSample::messages,
          {.metric = names::metric("troupe_mailbox_messages_total", names::counter,
                                   names::every_node, "Messages taken from the mailbox", "actor"),
           .is_total = true}),
    field(
        "seconds", &MailboxSample::seconds,
        {.metric = names::metric("troupe_mailbox_seconds_total", names::counter, names::every_node,
                                 "Time that messages waited in the mailbox", "actor"),
         .is_total = true}),
    field("processing_seconds", &MailboxSample::processing_seconds,
          {.metric = names::metric("troupe_processing_seconds_total", names::counter,
                                   names::every_node, "Time spent in message handlers", "actor"),
           .is_total = true})};

/// Totals of a host's loader threads (data.loader_threads) since the process began.
struct LoaderSample {
  std::int64_t batches = 0;
  double seconds = 0;        ///< over all threads
  double decode_seconds = 0; ///< the part spent reading and decoding files
};

template <>
inline constexpr auto fields_of<LoaderSample> =
    std::tuple{field("seconds", &LoaderSample::seconds,
                     {.metric = {"troupe_loader_seconds_total", names::counter, names::every_node,
                                 "Time of reading, decoding and augmenting, all loader threads"},
                      .is_total = true}),
               field("batches", &LoaderSample::batches,
                     {.metric = {"troupe_loader_batches_total", names::counter, names::every_node,
                                 "Micro-batches that loader threads have filled"},
                      .is_total = true}),
               field("decode_seconds", &LoaderSample::decode_seconds,
                     {.metric = {"troupe_decode_seconds_total", names::counter, names::every_node,
                                 "Time of reading and decoding image files, all loader threads"},
                      .is_total = true})};

} // namespace troupe::metrics
