#include "inspect/progress.h"

#include "tests/catch.h"
#include "tests/scratch.h"
#include "tests/terminal.h"

#include <heed/files/file.h>
#include <heed/tokenizers/graphemes.h>

#include <algorithm>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

using namespace heed;

TEST_CASE("progress_text gives the share done and the seconds left") {
  CHECK(progress_text("causes of runs/toy", 0.47, 0.5, 79) == "causes of runs/toy: 47 %");
  CHECK(progress_text("causes of runs/toy", 0.25, 4, 79) == "causes of runs/toy: 25 %, 12 s left");
  CHECK(progress_text("causes", 1.2, 4, 79) == "causes: 100 %, 0 s left");
  CHECK(progress_text("causes of a\x1b[1m", 0, 4, 79) == "causes of a␛[1m: 0 %");
}

TEST_CASE("progress_text shortens the name, but not the figures, to fit the width") {
  const std::string text = progress_text("causes of runs/with-a-name-that-is-long", 0.25, 4, 39);
  CHECK(text == "causes of runs/with-a…: 25 %, 12 s left");
  CHECK(display_width(text) == 39);
}

TEST_CASE("LiveLine writes nothing if the descriptor is not a terminal") {
  const Scratch scratch;
  const std::string file = (scratch / "line").string();
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT, 0666);
  {
    LiveLine line(descriptor);
    ::usleep(250'000);
    line.show("causes", 0.5);
  }
  ::close(descriptor);
  CHECK(read_file(file).empty());
}

TEST_CASE("LiveLine overwrites its line on a terminal and erases it at the end") {
  if (!has_pseudo_terminals()) return;
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE(terminal >= 0);
  REQUIRE((::grantpt(terminal) == 0 && ::unlockpt(terminal) == 0));
  const int descriptor = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY);
  REQUIRE(descriptor >= 0);
  const winsize size{24, 40, 0, 0};
  REQUIRE(::ioctl(descriptor, TIOCSWINSZ, &size) == 0);
  {
    LiveLine line(descriptor);
    line.show("at once", 0.1);  // too early for a line
    ::usleep(250'000);
    line.show("causes of a run with a name of more than forty columns", 0.5);
    line.show("too soon", 0.6);
    line.erase();
    REQUIRE(::write(descriptor, "text", 4) == 4);  // stays
  }
  std::string seen;
  for (pollfd shown{terminal, POLLIN, 0}; ::poll(&shown, 1, 100) > 0;) {
    char bytes[400];
    seen.append(bytes, static_cast<std::size_t>(std::max<ssize_t>(::read(terminal, bytes, sizeof bytes), 0)));
  }
  CHECK(seen == "\rcauses of a run with a name of m…: 50 %\x1b[K\r\x1b[Ktext");
  ::close(descriptor);
  ::close(terminal);
}

TEST_CASE("LiveLine announces the time of a long computation once, even without a terminal") {
  const Scratch scratch;
  const std::string file = (scratch / "line").string();
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT, 0666);
  {
    LiveLine line(descriptor);
    line.show("causes of runs/toy", 0);
    line.show("causes of runs/toy", 0.01, 186.4);
    line.show("causes of runs/toy", 0.02, 186.4);
    line.show("weights of runs/toy", 0.01, 9);
  }
  ::close(descriptor);
  CHECK(read_file(file) == "causes of runs/toy: about 186 s; --limit N asks fewer sentences\n");
}

TEST_CASE("Passes gives the share done, and estimates the time without the first pass") {
  struct Told {
    double share, seconds;
  };
  std::vector<Told> told;
  const OnProgress note = [&](const std::string& what, double share, double seconds) {
    CHECK(what == "causes");
    told.push_back({share, seconds});
  };
  Passes passes("causes", 10, note);
  for (int pass = 0; pass < 4; ++pass) {
    passes.next();
    ::usleep(pass == 0 ? 400'000 : 200'000);
  }
  REQUIRE(told.size() == 4);
  CHECK((told[0].share == 0 && told[3].share == 0.3));
  CHECK((told[0].seconds == 0 && told[1].seconds == 0));
  CHECK(told[3].seconds > 1.9);  // 10 passes of 0.2 s
  CHECK(told[3].seconds < 20);
}
