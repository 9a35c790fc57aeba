// An attention dump is rejected, or every view shows it.
#include "tests/fuzz/fuzz.h"
#include "views/picture.h"
#include "views/view.h"

using namespace heed;

void heed::fuzz::dump(std::string_view input) {
  static const fuzz::MemoryFile file;
  const std::filesystem::path path = file.path(input);
  Dump dump;
  if (!fuzz::accepts([&] { dump = read_dump(path); })) return;
  for (const int width : {40, 80, 200}) {
    const View view{.terminal = {width, width > 80}, .layer = {}, .head = {}, .before = &dump};
    checked_utf8(query_view(dump, view), "query_view");
    checked_utf8(matrix_view(dump, view), "matrix_view");
  }
  const Side side{.run = "r", .name = "r", .dump = dump, .metrics = {}};
  compare_view(side, side, {});
  json_view(dump);
  attention_csv(dump, {});
  if (!dump.sentences.empty()) attention_svg(dump.sentences[0], dump.step, {});
}
