#include "bench/results.h"

#include "tests/catch.h"
#include "tests/scratch.h"

#include <heed/files/file.h>

#include <algorithm>
#include <sstream>

using namespace heed;
using namespace heed::bench;

namespace {

Json row(const std::string& name, double ratio, double low, double high) {
  return {{"row", name}, {"ms", 2}, {"ratio", ratio}, {"ratio_quartiles", {low, high}}};
}

Json run(const std::string& processor, const std::string& date, const Json& rows) {
  return {{"processor", processor}, {"date", date}, {"rows", rows}};
}

}  // namespace

TEST_CASE("Results are stored by processor and date, and compared with the last of the same processor") {
  const Scratch scratch;
  const Json now = run("AMD EPYC(TM) 7", "2026-03-01", {row("a", 1, 1, 1), row("b", 1, 1, 1)});
  CHECK(result_path("results", now) == "results/amd-epyc-tm-7-2026-03-01.json");
  CHECK(last_before(scratch.path / "none", now).is_null());
  keep(scratch.path, run("AMD EPYC(TM) 7", "2026-01-02", Json::array()));
  keep(scratch.path, run("AMD EPYC(TM) 7", "2026-02-02", Json::array()));
  keep(scratch.path, run("other", "2026-02-20", Json::array()));
  keep(scratch.path, now);
  CHECK(last_before(scratch.path, now).at("date") == "2026-02-02");
  const std::string kept = read_file(result_path(scratch.path, now));
  CHECK(parse_json(kept) == now);
  CHECK(std::ranges::count(kept, '\n') == 3);
}

TEST_CASE("A difference is more than noise if the quartiles do not overlap") {
  const Json before =
      run("A", "2026-01-01", {row("same", 2, 1.9, 2.1), row("slower", 2, 1.9, 2.1), row("gone", 1, 1, 1)});
  const Json now =
      run("A", "2026-02-01", {row("same", 2.1, 2, 2.2), row("slower", 1.8, 1.7, 1.85), row("new", 1, 1, 1)});
  CHECK(changes(before, now) ==
        "Since 2026-01-01, times as fast as the fastest peer:\n"
        "  row                              before      now      slower | faster\n"
        "  same                               2.00     2.10             |##\n"
        "  slower                             2.00     1.80        #####|           more than noise\n");
}

TEST_CASE("The table has a line for each row and two columns for each run") {
  const Json one = run("A", "2026-01-01", Json::array({row("toy", 3.456, 3, 4)})),
             other = run("B", "2026-01-01", Json::array());
  CHECK(table({one, other}, {{"toy", "the toy"}}) ==
        "| float32, 2 threads | A: heed, ms | times as fast | B: heed, ms | times as fast |\n"
        "|---|---|---|---|---|\n"
        "| the toy | 2 | 3.46 | | |\n");
}

TEST_CASE("The tables in README.md match the stored results") {
  const std::vector<Json> runs = kept_in("bench/results");
  REQUIRE(runs.size() > 1);
  const std::string whole = table(runs, rows_of_readme());
  CHECK(read_file("README.md").find(whole) != std::string::npos);
  const std::string chinese = read_file("README.zh-CN.md");
  std::istringstream lines(whole.substr(whole.find("--|\n") + 4));
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK(chinese.find(line.substr(line.find(" |")) + "\n") != std::string::npos);
  }
}
