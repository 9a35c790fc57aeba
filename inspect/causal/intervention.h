#pragma once
#include "inspect/causal/held_out.h"

#include <functional>
#include <string>
#include <vector>

// Changes within a model's attention, for HeldOut::answers().
namespace heed {

/// One head of a layer, from 0; head -1: every head of it; layer -1: of every layer.
struct Heads {
  int layer = 0, head = -1;
};

// "encoder.1.attention.scores"
std::string value_of(int layer, const char* what);

HeldOut::Change zero_output(Heads heads);

// What a head gives on average, at the sentences' queries and at their other tokens: (heads, d_v).
struct MeanOutput {
  std::vector<double> at_query, elsewhere;
};
HeldOut::Change mean_output(Heads heads, const HeldOut& held_out, MeanOutput mean);

// The query `from` does not see the keys `to`; -1, or none: the sentence has no such edge, and is left as it is.
struct Edge {
  int from = -1;
  Span to{};
  bool exists() const { return from >= 0 && to.begin < to.end; }
};
using EdgeOf = std::function<Edge(const Example&)>;
HeldOut::Change cut(Heads heads, const HeldOut& held_out, const EdgeOf& edge_of);

// The query `from` sees the keys `to` alone.
HeldOut::Change keep_only(Heads heads, const HeldOut& held_out, const EdgeOf& edge_of);

// The heads' output is that of the twin sentence.
HeldOut::Change output_of_twin(Heads heads, const HeldOut& held_out);

}  // namespace heed
