#pragma once
#include <heed/tokenizers/marked_text.h>

#include <filesystem>

/// @file
/// Published coreference data sets in their original formats. Each reader throws Error with all mistakes of the file, by
/// line.
namespace heed {

/// Reads Winograd schemas of several sets in one file (Tikhonov & Ryabinin 2021, arXiv:2106.12066). Fields, separated by
/// tabs: language, set, source, sentence, tokens, pronoun and candidates. The last three are JSON: a pronoun is a list
/// of "it", [8, 9] (a span of tokens) and ["it"]; candidates are a list of this form, each with whether it is correct.
/// `sets` selects sets, "en/wsc_naive.test", separated by commas; it may be empty when the file has one set. Adjacent
/// sentences are counterparts.
std::vector<MarkedText> read_winograd(const std::filesystem::path& path, const std::string& sets = "");

/// Reads WinoGrande (Sakaguchi et al. 2020, arXiv:1907.10641): {"qID": "...-1", "sentence": "... the _ was ...",
/// "option1": ..., "option2": ..., "answer": "2"} per line. The candidate is the option's first occurrence in the
/// sentence: as a word, else as the start of a word ("cup" in "cups"), else anywhere. Counterparts have the same qID up
/// to its last "-".
std::vector<MarkedText> read_winogrande(const std::filesystem::path& path);

/// Reads GAP (Webster et al. 2018, arXiv:1810.05201): ID, text, pronoun and its offset, name A, its offset and TRUE or
/// FALSE, the same for B, and a URL, separated by tabs, below a header line; offsets count code points. Both may be
/// FALSE. The relation is "masculine" or "feminine", by the pronoun.
std::vector<MarkedText> read_gap(const std::filesystem::path& path);

/// Reads WinoBias (Zhao et al. 2018, arXiv:1804.06876): a number and a sentence per line. Brackets mark the antecedent
/// and the pronoun: "1 [The developer] argued with the designer because [she] did not like the design." The distractor
/// is a person that other lines of the file mark. The relation is "pro" or "anti" if the file name starts with it, else
/// empty.
std::vector<MarkedText> read_winobias(const std::filesystem::path& path);

}  // namespace heed
