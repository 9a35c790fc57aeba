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

// Trains one configuration with several seeds, to show how much of the result depends on the seed.
namespace heed {

/// Returns the seeds that "1-8", "1,3,5" or "1-4,9" lists, in that order. Throws UsageError for other text and for a
/// seed that is listed twice.
std::vector<std::uint64_t> parse_seeds(std::string_view text);

/// Returns t with P(|T| < t) = 0.95 for Student's t distribution with `degrees` (at least 1) degrees of freedom.
double student_t(int degrees);

/// The last evaluations of runs with several seeds: a table with a row per run and the figures that are known.
class SeedTable {
 public:
  std::string row(std::uint64_t seed, const Evaluation& held_out);  // the first row follows the heading
  std::string summary() const;  // means, and from the second row on their 95 % intervals (Student's t)

 private:
  struct Column {
    std::string name;
    int width;
    std::vector<double> values;
  };
  std::vector<Column> columns_;
};

/// Trains each configuration in OUT/seed-N; they differ in their seed alone. Resumes a run that exists, and keeps one
/// that has ended. Prints the table while it grows, unless `quiet`. Returns false when `stop` became non-zero before
/// all runs had ended. Throws Error, before training, when a run of another configuration exists.
bool train_seeds(const std::vector<Config>& configs, const std::filesystem::path& out, bool quiet,
                 const Terminal& terminal, const volatile std::sig_atomic_t& stop);

}  // namespace heed
