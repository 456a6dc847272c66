// The first byte says which format the rest is read as, and whether there is a header.

#include "fuzz/fuzz_target.h"
#include "training/data/row_reader.h"

FUZZ_TARGET(rows) {
  using namespace glassformer;
  if (bytes.empty()) return;
  const auto choice = static_cast<unsigned>(bytes[0]);
  const auto format = static_cast<RowFormat>(choice % 4);
  const std::vector<std::string> all, some{"a", "0"};
  RowReader rows(LineReader(source_of(bytes.subspan(1)), "input"), format,
                 format == RowFormat::kJsonl ? some : all, choice / 4 % 2 == 1);
  while (rows.next())
    for (size_t i = 0; i < rows.size(); ++i) {
      if (format == RowFormat::kJsonl && rows.field(i).is_array())
        rows.list(i);
      else
        rows.cell(i);
    }
}
