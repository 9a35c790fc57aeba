#include "inspect/metrics.h"

#include "data/text_file.h"

namespace heed {

std::vector<Json> read_metrics(const std::filesystem::path& run) {
  std::vector<Json> result;
  const std::filesystem::path path = run / "metrics.jsonl";
  if (!std::filesystem::exists(path)) return result;
  TextFile file(path);
  for (std::size_t i = 0; i < file.lines().size(); ++i) {
    try {
      result.push_back(parse_json(file.lines()[i]));
      const Json& line = result.back();
      if (!line.is_object() || !line.contains("step") || !line["step"].is_number_integer()) {
        file.mistake(i + 1, "expected an object {{\"step\": ...}}");
      }
    } catch (const Error& error) {
      file.mistake(i + 1, "{}", error.what());
    }
  }
  file.finish();
  return result;
}

}  // namespace heed
