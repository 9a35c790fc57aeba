#pragma once
#include "bench/peer.h"
#include "bench/rows.h"

#include <functional>
#include <memory>
#include <vector>

namespace heed::bench {

// What the machine reaches.
struct Machine {
  double flops = 0, flops_of_one = 0;  // a second, in registers, with all threads and with one
  double bytes = 0;                    // of memory, a second, as it is gone through fastest
};

// The greatest of so many passes, seconds apart: what the machine reaches, not what its other guests left of it at one
// moment. Prints a table of all rates.
Machine measure_machine(int passes);

struct Settings {
  int turns = 9;
  double seconds = 0.1;  // a turn
};

// The median time of `work` in milliseconds, repeated for so long, at least once. The same as peers/peer.py's.
double turn(const std::function<void()>& work, double seconds);

// The q-th of the values in order, 0 <= q <= 1.
double quantile(std::vector<double> values, double q);

// How far two sides' losses are apart, relative to their size, at most.
double difference(const std::vector<double>& ours, const std::vector<double>& theirs);

// A row's result: "ms"; "peers", of each that has such a row {"NAME": {"ms", "way"}}, timed in turns with heed; of the fastest of
// them "peer", its name, "ratio" and "ratio_quartiles"; "share_of_limit" by what the machine reaches; for a model
// "gain_of_threads", "times_as_long_beside_another" program that keeps one processor busy, and "losses_apart". Error when a
// peer's losses differ.
Json measure(const Row& row, const std::vector<std::unique_ptr<Peer>>& peers, const Machine& machine,
             const Settings& settings);

// The result as a line of a Markdown table, and the table's head, with a column for each of these peers.
std::string table_head(const std::vector<std::string>& peers);
std::string table_line(const Json& result, const std::vector<std::string>& peers);

}  // namespace heed::bench
