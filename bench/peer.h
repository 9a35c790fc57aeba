#pragma once
#include "tokenizers/internal/json.h"

#include <string>
#include <sys/types.h>
#include <vector>

namespace heed::bench {

/// A program that answers each line of JSON with a line of JSON.
class Peer {
 public:
  explicit Peer(const std::vector<std::string>& command);  // throws Error when it does not start or does not answer
  ~Peer();
  Peer(const Peer&) = delete;

  const Json& greeting() const { return greeting_; }  // its first line: {"name", "version"}
  std::string name() const { return greeting_.at("name"); }
  Json ask(const Json& request);  // throws Error when the program ends without an answer

 private:
  Json read_line();

  std::string command_;
  pid_t process_ = -1;
  int to_ = -1, from_ = -1;
  std::string buffer_;
  Json greeting_;
};

}  // namespace heed::bench
