#pragma once
#include <vector>

namespace heed {

// A share and its 95 % interval.
struct Interval {
  double share = 0, low = 0, high = 1;
};

// Of `right` among `count` independent ones (Wilson 1927): all NaN of none.
Interval wilson(int right, int count);

// Of what is right, where right[i] and right[twin[i]] are not independent (twin[i] -1: alone): pairs are drawn again as
// pairs, 4,000 times from a fixed seed, and the interval holds the middle 95 % (Efron 1979). Wilson's where none has a twin;
// where all or none is right, Wilson's of so many pairs.
Interval share_of(const std::vector<bool>& right, const std::vector<int>& twin);

}  // namespace heed
