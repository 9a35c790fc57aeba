#include "bench/peer.h"

#include "tests/catch.h"
#include "tests/message.h"

using namespace heed;
using bench::Peer;

TEST_CASE("A peer says its greeting, and answers each request with a line") {
  Peer peer({"sh", "-c", R"(echo '{"version":"1.0"}'; while read -r line; do echo "{\"heard\":$line}"; done)"});
  CHECK(peer.greeting()["version"] == "1.0");
  CHECK(format_json(peer.ask({{"turn", 0.5}})) == R"({"heard":{"turn":0.5}})");
  const std::string longer_than_a_read(10'000, 'x');
  CHECK(peer.ask({{"text", longer_than_a_read}})["heard"]["text"] == longer_than_a_read);
}

TEST_CASE("Two answers that arrive together are separated") {
  Peer peer({"sh", "-c", "echo '{}'; printf '[1]\\n[2]\\n'; read -r line; read -r line"});
  CHECK(format_json(peer.ask(1)) == "[1]");
  CHECK(format_json(peer.ask(2)) == "[2]");
}

TEST_CASE("A peer that is missing, says nothing, or ends instead of answering is an error that names it") {
  CHECK(message([] { Peer({"/there/is/no/such/program"}); }) ==
        "/there/is/no/such/program: it ended without an answer");
  CHECK(message([] { Peer({"true"}); }) == "true: it ended without an answer");
  Peer peer({"sh", "-c", "echo '{}'; read -r line"});
  CHECK(message([&] { peer.ask({{"turn", 1}}); }) == "sh -c echo '{}'; read -r line: it ended without an answer");
}
