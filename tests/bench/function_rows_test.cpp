#include "bench/rows.h"
#include "tests/catch.h"

#include <heed/autograd/operation.h>
#include <heed/autograd/profile.h>
#include <heed/files/file.h>

#include <regex>
#include <set>
#include <sstream>

using namespace heed;
using namespace heed::bench;

TEST_CASE(
    "Each public function of ops.h, array_ops.h, mixed_ops.h, indexing.h, convolution.h and recurrent.h has a row") {
  std::set<std::string> measured;
  for (const Row& row : function_rows(true)) measured.insert(row.counterpart["function"].get<std::string>());
  const std::regex declaration(
      R"(^(?:Tensor|Ids|Booleans|bool|double|void|std::int64_t|std::vector<Tensor>|Ordered|AttentionResult|BatchNormResult) (operator[^(]+|\w+)\()");
  std::string headers;
  for (const char* name : {"ops", "array_ops", "mixed_ops", "indexing", "convolution", "recurrent"}) {
    headers += read_file("autograd/" + std::string(name) + ".h");
  }
  std::istringstream lines(headers);
  std::set<std::string> declared;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("= delete;") != line.npos) continue;
    if (std::smatch found; std::regex_search(line, found, declaration)) declared.insert(found[1]);
  }
  CHECK(declared.size() > 90);
  for (const std::string& name : declared) {
    INFO("bench/function_rows.cpp and bench/peers/functions.py need a call of " << name);
    CHECK(measured.contains(name));
  }
  for (const std::string& name : measured) {
    INFO(name);
    CHECK(declared.contains(name));
  }
}

TEST_CASE("Each differentiable operation has a row that runs its backward, and all rows run") {
  const std::set<std::string> in_recorded_backward{
      "place",      "pick",           "spread",
      "checkpoint", "conv2d weights", "avg_pool2d transposed"};  // no function alone records them
  std::set<std::string> names, backward;
  for (const Row& row : function_rows(true)) {
    INFO(row.name);
    CHECK(names.insert(row.name).second);
    const auto work = row.prepare();
    const Profile profile;
    work();
    for (const auto& [operation, total] : profile.totals()) {
      if (operation.ends_with(" backward")) backward.insert(operation.substr(0, operation.size() - 9));
    }
  }
  for (const Operation* operation : operations()) {
    if (operation->samples().reason_for_none() || in_recorded_backward.contains(operation->name())) continue;
    INFO("bench/function_rows.cpp needs a call that records " << operation->name());
    CHECK(backward.contains(operation->name()));
  }
}

TEST_CASE("Each row has a call in the peers' list") {
  const std::string peers = read_file("bench/peers/functions.py");
  for (const Row& row : function_rows(true)) {
    const std::string call = row.counterpart["call"];
    INFO(call);
    CHECK((peers.find('"' + call + '"') != std::string::npos));
  }
}
