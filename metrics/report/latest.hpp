/// The newest records of a kind.
#pragma once

#include <cstddef>
#include <deque>

namespace troupe::metrics {

template <class Record, std::size_t most>
class Latest {
public:
  void add(const Record& record) {
    records_.push_back(record);
    if (records_.size() > most)
      records_.pop_front();
  }
  const std::deque<Record>& records() const { return records_; }

private:
  std::deque<Record> records_;
};

} // namespace troupe::metrics
