#include "bench/measure.h"

#include "tests/catch.h"
#include "tests/message.h"

#include <heed/autograd/machine.h>

#include <cmath>

using namespace heed;
using namespace heed::bench;

namespace {

// A peer that reports this time per turn and these losses.
struct Fake {
  std::string name = "Torch";
  std::string losses = "[]";
  double ms = 1e6;
  bool has = true;
};
std::vector<std::string> script(const Fake& fake) {
  return {"sh", "-c",
          fmt::format(R"(echo '{{"name":"{}","version":"1"}}'
while read -r line; do case "$line" in
  *has*) echo '{{"has":{}}}' ;;
  *losses*) echo '{{"losses":{}}}' ;;
  *prepare*) echo '{{"way":"1 thread"}}' ;;
  *turn*) echo '{{"ms":{}}}' ;;
esac; done)",
                      fake.name, fake.has, fake.losses, fake.ms)};
}

std::vector<std::unique_ptr<Peer>> peers(const std::vector<Fake>& fakes) {
  std::vector<std::unique_ptr<Peer>> result;
  for (const Fake& fake : fakes) result.push_back(std::make_unique<Peer>(script(fake)));
  return result;
}

std::string twenty(const std::string& loss) {
  std::string list = loss;
  for (int i = 1; i < 20; ++i) list += "," + loss;
  return "[" + list + "]";
}

Row row(int* runs) {
  return {.name = "row", .counterpart = {{"row", "row"}}, .flops = 1, .bytes = 2, .prepare = [runs] {
            return [runs] { ++*runs; };
          }};
}

constexpr Settings settings{.turns = 3, .seconds = 0};
constexpr Machine machine{.flops = 1e3, .flops_of_one = 1e3, .bytes = 1e3};

}  // namespace

TEST_CASE("A quantile is one of the values") {
  CHECK(quantile({3, 1, 2}, 0.5) == 2);
  CHECK(quantile({4, 1, 2, 3, 5}, 0.25) == 2);
  CHECK(quantile({4, 1, 2, 3, 5}, 1) == 5);
  CHECK(quantile({7}, 0.75) == 7);
}

TEST_CASE("difference() compares losses relative to their size, and requires equal counts") {
  CHECK(difference({2, 4}, {2, 4}) == 0);
  CHECK(difference({2, 4}, {2, 5}) == Approx(0.25));
  CHECK(difference({-2, 4}, {-1, 4}) == Approx(0.5));
  CHECK(std::isnan(difference({2, 4}, {NAN, 4})));
  CHECK(message([] { difference({2, 4}, {2}); }) == "bench: expected as many losses as heed's, 2, got 1");
}

TEST_CASE("turn() runs its work until its time is over, and at least once") {
  int runs = 0;
  CHECK(turn([&] { ++runs; }, 0) >= 0);
  CHECK(runs == 1);
  turn([&] { ++runs; }, 0.01);
  CHECK(runs > 2);
}

TEST_CASE("A row without a peer reports its time and its share of the machine's limit") {
  int runs = 0;
  const Json result = measure(row(&runs), {}, machine, settings);
  CHECK(runs == 1 + 3);  // once to warm up
  CHECK(result["ms"].get<double>() > 0);
  CHECK(result["share_of_limit"].get<double>() == Approx(3e-3 / (result["ms"].get<double>() * 1e-3)));
  CHECK_FALSE(result.contains("ratio"));
  CHECK(table_head({}) ==
        "| row | heed, ms | times as fast | share of limit | fastest peer's way |\n|---|---|---|---|---|\n");
  CHECK(table_line({{"row", "row"}, {"ms", 1.23456}, {"share_of_limit", 0.345}}, {}) ==
        "| row | 1.235 |  | 34 % |  |\n");
}

TEST_CASE("A row with a peer reports both times and their ratio") {
  int runs = 0;
  const Json result = measure(row(&runs), peers({{}}), machine, settings);
  CHECK(result["peers"]["Torch"]["ms"] == 1e6);
  CHECK(result["peers"]["Torch"]["way"] == "1 thread");
  CHECK(result["peer"] == "Torch");
  CHECK(result["ratio"].get<double>() > 1);
  CHECK(result["ratio_quartiles"][0] <= result["ratio_quartiles"][1]);
}

TEST_CASE("measure() compares with the fastest peer, and skips peers without the row") {
  int runs = 0;
  Json result =
      measure(row(&runs), peers({{.name = "A"}, {.name = "B", .ms = 5e5}, {.name = "C", .ms = 1, .has = false}}),
              machine, settings);
  CHECK(result["peer"] == "B");
  CHECK(result["peers"]["A"]["ms"] == 1e6);
  CHECK_FALSE(result["peers"].contains("C"));
  result["ms"] = 2;
  result["ratio"] = 3;
  result["ratio_quartiles"] = {2, 4};
  result.erase("share_of_limit");
  CHECK(table_line(result, {"A", "B", "C"}) ==
        "| row | 2 | 1e+06 | 5e+05 |  | 3.00 (2.00 to 4.00) |  | B, 1 thread |\n");
}

TEST_CASE("For a model, each peer must compute the same losses") {
  int runs = 0;
  Row model = row(&runs);
  model.losses = [](int steps) { return std::vector<double>(static_cast<std::size_t>(steps), 0.5); };
  const Fake same{.losses = twenty("0.50001")};
  const Json result = measure(model, peers({same}), machine, settings);
  CHECK(result["losses_apart"].get<double>() == Approx(2e-5));
  CHECK(result["gain_of_threads"].get<double>() > 0);
  CHECK(result["times_as_long_beside_another"].get<double>() > 0);
  const int all = threads();
  CHECK(message([&] {
          measure(model, peers({same, {.name = "B", .losses = twenty("0.51")}}), machine, settings);
        }) == "row: the losses of the first 20 steps differ from B's by 2.0e-02, so the work is not the same");
  CHECK_THROWS(measure(model, peers({{.losses = twenty("null")}}), machine, settings));
  CHECK(threads() == all);
}

TEST_CASE("slow_rows() lists the rows below 0.9, slowest first") {
  Json results = Json::array({{{"row", "a"}, {"ratio", 0.9}}, {{"row", "b"}}});
  CHECK(slow_rows(results) == "None of the 2 rows is below 0.9.\n");
  results.push_back({{"row", "c"}, {"ratio", 0.89}});
  results.push_back({{"row", "d"}, {"ratio", 0.5}});
  CHECK(slow_rows(results) == "2 of 4 rows are below 0.9:\n  0.50  d\n  0.89  c\n");
}
