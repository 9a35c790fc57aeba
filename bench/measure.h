#pragma once
#include "bench/peer.h"
#include "bench/rows.h"

#include <functional>
#include <memory>
#include <vector>

namespace heed::bench {

/// The machine's limits.
struct Machine {
  double flops = 0, flops_of_one = 0;  // per second, in registers, with all threads and with one
  double bytes = 0;                    // per second, of memory, with the fastest access pattern
};

/// Returns the maximum of several passes, seconds apart, so that other programs on the machine affect the result less.
/// Prints a table of all rates.
Machine measure_machine(int passes);

struct Settings {
  int turns = 9;
  double seconds = 0.1;  // per turn
};

/// Returns the median time of `work` in milliseconds. Repeats it for `seconds`, at least once. peers/peer.py has the
/// same function.
double turn(const std::function<void()>& work, double seconds);

/// Returns the q-quantile of the values, 0 <= q <= 1.
double quantile(std::vector<double> values, double q);

/// Returns the largest relative difference between the losses of two programs.
double difference(const std::vector<double>& ours, const std::vector<double>& theirs);

/// Measures a row: "ms"; "peers", with {"NAME": {"ms", "way"}} for each peer that has such a row, timed alternately
/// with heed; for the fastest peer "peer" (its name), "ratio" and "ratio_quartiles"; "share_of_limit", relative to the
/// machine's limit; for a model "gain_of_threads", "times_as_long_beside_another" (with another program that keeps one
/// processor busy) and "losses_apart". Throws Error when a peer's losses differ.
Json measure(const Row& row, const std::vector<std::unique_ptr<Peer>>& peers, const Machine& machine,
             const Settings& settings);

/// Returns the rows that are less than 0.9 times as fast as their fastest peer, slowest first, as a sentence.
std::string slow_rows(const Json& results);

/// Return the result as a line of a Markdown table, and the table's head, with a column for each peer.
std::string table_head(const std::vector<std::string>& peers);
std::string table_line(const Json& result, const std::vector<std::string>& peers);

}  // namespace heed::bench
