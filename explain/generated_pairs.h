#pragma once
#include <heed/autograd/enum_names.h>
#include <heed/explain/pairs.h>
#include <heed/explain/progress.h>

#include <cstdint>
#include <string>
#include <vector>

namespace heed {

/// What the answer to a generated pair depends on. Both texts differ in one word.
enum class Behaviour {
  ioi,           ///< which of two names is the indirect object (Wang et al. 2022, arXiv:2211.00593)
  greater_than,  ///< which years are later than another (Hanna et al. 2023, arXiv:2305.00586)
  agreement,     ///< the verb that agrees with its subject in number; in Chinese the classifier that agrees with a noun
  gender,        ///< the pronoun of a person
  induction      ///< what came after the same token before (Olsson et al. 2022, arXiv:2209.11895)
};
template <>
inline constexpr EnumName<Behaviour> enum_names<Behaviour>[] = {{Behaviour::ioi, "ioi"},
                                                                {Behaviour::greater_than, "greater_than"},
                                                                {Behaviour::agreement, "agreement"},
                                                                {Behaviour::gender, "gender"},
                                                                {Behaviour::induction, "induction"}};

/// The language of generated pairs.
enum class PairLanguage { english, chinese };
template <>
inline constexpr EnumName<PairLanguage> enum_names<PairLanguage>[] = {{PairLanguage::english, "en"},
                                                                      {PairLanguage::chinese, "zh"}};

/// A pair as a file of pairs has it: see read_pairs().
struct WrittenPair {
  std::string clean, corrupted;
  std::vector<std::string> answer, wrong;
  std::string group{};
};

/// Options of generate_pairs().
struct PairOptions {
  PairLanguage language = PairLanguage::english;
  int count = 100;
  std::uint64_t seed = 1;
  OnProgress progress = {};
};

/// Returns `count` different pairs for a model that predicts the next token or hidden ones. Both texts of a pair have as many
/// tokens, and all of them are in the model's vocabulary. An answer is the one token with which the clean text continues, or that
/// its mask hides. English words that vary are single tokens too, so that all pairs of a group have their words at the same
/// tokens. Groups are the templates. Throws `Error` that says how many words are left where they are too few.
///
///     for (const WrittenPair& pair : generate_pairs(model, Behaviour::ioi, {.count = 100})) file << pair_line(pair) << '\n';
std::vector<WrittenPair> generate_pairs(const Model& model, Behaviour behaviour, const PairOptions& options = {});

/// Returns a pair as one line of JSON, which read_pairs() reads.
std::string pair_line(const WrittenPair& pair);

}  // namespace heed
