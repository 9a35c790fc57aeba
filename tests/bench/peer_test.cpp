#include "bench/peer.h"

#include "tests/catch.h"
#include "tests/message.h"

using namespace heed;
using bench::Peer;

TEST_CASE("Peer reads a greeting, and a line in answer to each request") {
  Peer peer({"sh", "-c", R"(echo '{"version":"1.0"}'; while read -r line; do echo "{\"heard\":$line}"; done)"});
  CHECK(peer.greeting()["version"] == "1.0");
  CHECK(format_json(peer.ask({{"turn", 0.5}})) == R"({"heard":{"turn":0.5}})");
  const std::string longer_than_a_read(10'000, 'x');
  CHECK(peer.ask({{"text", longer_than_a_read}})["heard"]["text"] == longer_than_a_read);
}

TEST_CASE("Peer separates two answers that arrive together") {
  Peer peer({"sh", "-c", "echo '{}'; printf '[1]\\n[2]\\n'; read -r line; read -r line"});
  CHECK(format_json(peer.ask(1)) == "[1]");
  CHECK(format_json(peer.ask(2)) == "[2]");
}

TEST_CASE("A peer that is missing or ends without an answer throws an Error that names it") {
  CHECK(message([] { Peer({"/there/is/no/such/program"}); }) ==
        "/there/is/no/such/program: it ended without an answer");
  CHECK(message([] { Peer({"true"}); }) == "true: it ended without an answer");
  Peer peer({"sh", "-c", "echo '{}'; read -r line"});
  CHECK(message([&] { peer.ask({{"turn", 1}}); }) == "sh -c echo '{}'; read -r line: it ended without an answer");
}
