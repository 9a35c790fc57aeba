#include "bench/results.h"

#include <heed/files/file.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

namespace heed::bench {
namespace {

namespace fs = std::filesystem;

const Json* find_row(const Json& run, const std::string& name) {
  for (const Json& row : run.at("rows")) {
    if (row.at("row") == name) return &row;
  }
  return nullptr;
}

// Draws "...|###" for a change of +6 %: 2 % per character, at most ten on either side.
std::string bar(double change) {
  const int signs = std::clamp(static_cast<int>(std::lround(std::abs(std::log(change)) / 0.02)), 0, 10);
  const std::string mark(static_cast<std::size_t>(signs), '#');
  return change < 1 ? fmt::format("{:>10}|{:10}", mark, "") : fmt::format("{:10}|{:<10}", "", mark);
}

}  // namespace

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

fs::path result_path(const fs::path& directory, const Json& run) {
  std::string name;
  for (const char c : run.at("processor").get<std::string>()) {
    const bool is_kept = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (c >= 'A' && c <= 'Z') {
      name += static_cast<char>(c - 'A' + 'a');
    } else if (is_kept) {
      name += c;
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  if (name.ends_with('-')) name.pop_back();
  return directory / fmt::format("{}-{}.json", name, run.at("date").get<std::string>());
}

void keep(const fs::path& directory, const Json& run) {
  Json head = run;
  head.erase("rows");
  std::string text = format_json(head);
  text.back() = ',';  // replaces the closing brace
  text += "\"rows\":[";
  for (const Json& row : run.at("rows")) text += (text.back() == '[' ? "\n" : ",\n") + format_json(row);
  fs::create_directories(directory);
  write_file(result_path(directory, run), text + "]}\n");
}

std::vector<Json> kept_in(const fs::path& directory) {
  std::vector<fs::path> files;
  if (!fs::exists(directory)) return {};
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  std::vector<Json> runs;
  for (const fs::path& file : files) runs.push_back(parse_json(read_file(file)));
  return runs;
}

Json last_before(const fs::path& directory, const Json& run) {
  Json last;
  for (Json& other : kept_in(directory)) {
    if (other.at("processor") != run.at("processor") || other.at("date") == run.at("date")) continue;
    if (last.is_null() || last.at("date") < other.at("date")) last = std::move(other);
  }
  return last;
}

std::string changes(const Json& before, const Json& now) {
  std::string text =
      fmt::format("Since {}, times as fast as the fastest peer:\n  {:<30} {:>8} {:>8}      slower | faster\n",
                  before.at("date").get<std::string>(), "row", "before", "now");
  for (const Json& row : now.at("rows")) {
    const Json* const old = find_row(before, row.at("row"));
    if (!old || !old->contains("ratio") || !row.contains("ratio")) continue;
    const double was = old->at("ratio"), is = row.at("ratio");
    const Json &those = old->at("ratio_quartiles"), &these = row.at("ratio_quartiles");
    const bool is_more = these[0] > those[1] || these[1] < those[0];
    text += fmt::format("  {:<30} {:>8.2f} {:>8.2f}   {} {}\n", row.at("row").get<std::string>(), was, is,
                        bar(is / was), is_more ? "more than noise" : "");
    text.erase(text.find_last_not_of(" \n") + 1);
    text += "\n";
  }
  return text;
}

std::string table(const std::vector<Json>& runs, const std::vector<std::pair<std::string, std::string>>& rows) {
  std::string text = "| float32, 2 threads |", rule = "|---|";
  for (const Json& run : runs) {
    text += fmt::format(" {}: heed, ms | times as fast |", run.at("processor").get<std::string>());
    rule += "---|---|";
  }
  text += "\n" + rule + "\n";
  for (const auto& [name, shown] : rows) {
    text += fmt::format("| {} |", shown);
    for (const Json& run : runs) {
      const Json* const row = find_row(run, name);
      text +=
          row ? fmt::format(" {:.4g} | {:.2f} |", row->at("ms").get<double>(), row->at("ratio").get<double>()) : " | |";
    }
    text += "\n";
  }
  return text;
}

const std::vector<std::pair<std::string, std::string>>& rows_of_readme() {
  static const std::vector<std::pair<std::string, std::string>> rows{
      {"toy", "training step of `toy.yaml`'s model"},
      {"char", "step of nanoGPT's CPU model (4 layers, d_model 128, 0.8M parameters)"},
      {"gpt2", "step of GPT-2 124M, B 4, T 64"},
      {"attention, T 2048", "attention, T 2048"}};
  return rows;
}

}  // namespace heed::bench
