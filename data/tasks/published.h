#pragma once
#include <heed/data/marked_text.h>

#include <filesystem>

// Published sets of coreference in real sentences, as their authors give them. Each reader gives an Error with every
// mistake of the file, by line.
namespace heed {

// Winograd schemas of several sets in one file (Tikhonov & Ryabinin 2021, arXiv:2106.12066): language, set, source,
// sentence, tokens, pronoun and candidates, divided by tabs, the last three in JSON: "it", [8, 9], ["it"] in a list, the
// span counted in tokens; a list of candidates of that form, each with whether it is meant. `sets`: which of them,
// "en/wsc_naive.test"; several divided by commas; all when empty. Neighbours are twins.
std::vector<MarkedText> read_winograd(const std::filesystem::path& path, const std::string& sets = "");

// WinoGrande (Sakaguchi et al. 2020, arXiv:1907.10641): {"qID": "...-1", "sentence": "... the _ was ...", "option1": ...,
// "option2": ..., "answer": "2"} a line. An option is a candidate where it stands first in the sentence: as a word, else as
// a word's beginning ("cup" in "cups"), else anywhere. Twins have one qID but for what follows its last "-".
std::vector<MarkedText> read_winogrande(const std::filesystem::path& path);

// GAP (Webster et al. 2018, arXiv:1810.05201): ID, text, pronoun and its offset, name A, its offset and TRUE or FALSE, the same
// of B, and an address, divided by tabs, below a line of titles; offsets in code points. Both may be FALSE. The relation
// is "masculine" or "feminine", as the pronoun.
std::vector<MarkedText> read_gap(const std::filesystem::path& path);

// WinoBias (Zhao et al. 2018, arXiv:1804.06876): a number and a sentence a line, in which brackets mark who is meant and the
// pronoun: "1 [The developer] argued with the designer because [she] did not like the design." The other candidate is
// who else the file marks elsewhere. The relation is "pro" or "anti", as the file's name begins; else there is none.
std::vector<MarkedText> read_winobias(const std::filesystem::path& path);

}  // namespace heed
