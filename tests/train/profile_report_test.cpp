#include "train/profile_report.h"

#include "tests/catch.h"
#include "tests/scratch.h"
#include "tokenizers/internal/json.h"

#include <heed/autograd/ops.h>
#include <heed/files/file.h>

#include <sstream>

using namespace heed;

TEST_CASE("profile_table fits 80 columns, and write_trace writes every operation as JSON") {
  Profile profile;
  const Tensor a = ones({64, 64});
  for (int i = 0; i < 3; ++i) matmul(a, a);
  note_work("(something with a name longer than its column)", 1000);
  const Limits limits{.flops = 1e9, .bytes = {{1e6, 1e9}, {1e8, 5e8}}};
  const std::string table = profile_table(profile, limits);
  CAPTURE(table);
  CHECK(table.find(" GFLOP/s, ") != std::string::npos);
  CHECK(table.find("\nmatmul  ") != std::string::npos);
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 80);

  const Scratch scratch;
  write_trace(scratch / "trace.json", profile);
  const Json trace = parse_json(read_file(scratch / "trace.json"));
  REQUIRE(trace.at("traceEvents").size() == profile.work().size());
  CHECK(trace.at("traceEvents")[0].at("name") == *profile.work()[0].name);
  CHECK(trace.at("traceEvents")[0].at("args").at("MFLOP").get<double>() == Approx(2 * 64 * 64 * 64 * 1e-6));
}

TEST_CASE("profile_table shows at most 100 % of a limit, even if the limit was measured too low") {
  Profile profile;
  const Tensor a = ones({64, 64}), b = ones({256, 256});
  for (int i = 0; i < 3; ++i) matmul(a, a), matmul(b, b);
  note_work("copy", 8e6);
  for (const Limits& limits : {Limits{.flops = 1, .bytes = {{1e3, 1}, {1e8, 1}}},
                               Limits{.flops = 1e15, .bytes = {{1e3, 1e15}, {1e8, 1e15}}}}) {
    const std::string table = profile_table(profile, limits);
    CAPTURE(table);
    int shares = 0;
    std::istringstream lines(table);
    for (std::string line; std::getline(lines, line);) {
      if (!line.ends_with(" %")) continue;
      ++shares;
      CHECK(std::stod(line.substr(line.size() - 7)) <= 100);
    }
    CHECK(shares >= 1);
  }
}
