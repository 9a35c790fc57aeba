#pragma once
#include "inspect/views/terminal.h"
#include "run/metrics.h"
#include "train/config/config.h"

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

// The same training with several seeds: what of its result is the seed's.
namespace heed {

// The seeds that "1-8", "1,3,5" or "1-4,9" names, in that order. UsageError for another text or a seed that is named twice.
std::vector<std::uint64_t> parse_seeds(std::string_view text);

// t with P(|T| < t) = 0.95 for Student's t of `degrees` (at least 1) degrees of freedom.
double student_t(int degrees);

// How runs of several seeds ended, a row each: the figures of their last evaluation that are known.
class SeedTable {
 public:
  std::string row(std::uint64_t seed, const Evaluation& held_out);  // before the first: the heading
  std::string summary() const;  // means, and from the second row on their 95 % intervals (Student's t)

 private:
  struct Column {
    std::string name;
    int width;
    std::vector<double> values;
  };
  std::vector<Column> columns_;
};

// Trains each configuration, which differ in their seed alone, in OUT/seed-N. A run that is there already goes on, or is
// kept when it has ended. Prints the table while it grows, unless `quiet`. Returns false when `stop` became non-zero
// before all had ended. Error, before anything is trained, for a run of another configuration.
bool train_seeds(const std::vector<Config>& configs, const std::filesystem::path& out, bool quiet,
                 const Terminal& terminal, const volatile std::sig_atomic_t& stop);

}  // namespace heed
