#include "core/fail.hpp"
#include "cpu/interpreter/ops.hpp"

namespace troupe::cpu {

namespace {

/// Returns the first element of the table row of each id. Errors: data, for an id outside the
/// table.
Result<std::vector<std::size_t>> table_rows(const Values& ids, const Shape& table) {
  std::vector<std::size_t> rows;
  for (const double value : ids) {
    const auto id = static_cast<std::int64_t>(value);
    if (id < 0 || id >= table[0])
      return fail(Errc::data, "an id is {}, but the table has {} rows", id, table[0]);
    rows.push_back(static_cast<std::size_t>(id * table[1]));
  }
  return rows;
}

/// Elements of a sequence's rows, in tensors with as many columns as input 0.
std::size_t elements_of_sequence(const Operands& operands) {
  const auto sequence = operands.attributes<PositionAttributes>().sequence;
  return static_cast<std::size_t>(sequence * operands.input(0).shape[1]);
}

} // namespace

Status embedding(const Operands& operands) {
  const auto& shape = operands.input(1).shape;
  TROUPE_TRY(const auto rows, table_rows(operands.read(0), shape));
  const auto table = operands.read(1);
  Values y;
  for (const auto row : rows)
    for (std::size_t c = 0; c < shape.size(1); ++c)
      y.push_back(table[row + c]);
  operands.write(0, y);
  return {};
}

Status embedding_backward(const Operands& operands) {
  const auto dy = operands.read(0);
  const auto& shape = operands.output(0).shape;
  const auto width = shape.size(1);
  TROUPE_TRY(const auto rows, table_rows(operands.read(1), shape));
  Values dtable(shape.count());
  for (std::size_t i = 0; i < dy.size(); ++i)
    dtable[rows[i / width] + i % width] += dy[i];
  operands.write(0, dtable);
  return {};
}

Status position_embedding(const Operands& operands) {
  auto y = operands.read(0);
  const auto table = operands.read(1);
  const auto elements = elements_of_sequence(operands);
  const auto& shape = operands.input(1).shape;
  TROUPE_TRY(const auto first,
             operands.read_first(2, operands.attributes<PositionAttributes>().sequence, shape[0]));
  const auto skipped = first * shape.size(1);
  for (std::size_t i = 0; i < y.size(); ++i)
    y[i] += table[skipped + i % elements];
  operands.write(0, y);
  return {};
}

Status position_embedding_backward(const Operands& operands) {
  const auto dy = operands.read(0);
  const auto elements = elements_of_sequence(operands);
  Values dtable(operands.output(0).shape.count());
  for (std::size_t i = 0; i < dy.size(); ++i)
    dtable[i % elements] += dy[i];
  operands.write(0, dtable);
  return {};
}

} // namespace troupe::cpu
