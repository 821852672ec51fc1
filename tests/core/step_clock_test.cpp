// Steps are inferred from the order of forward ops and optimizer steps.
#include "libamp/core/step_clock.h"

#include <catch2/catch_test_macros.hpp>

#include "libamp/observe/in_process.h"

using namespace amp;

namespace {
struct FreshClock {
  FreshClock() {
    step_clock::reset();
    step_clock::set_sampling("off");
    step_clock::set_window("0:4000000000");
  }
  ~FreshClock() {
    step_clock::set_sampling("off");
    step_clock::set_window("0:4000000000");
    step_clock::reset();
  }
};
}  // namespace

TEST_CASE("a step begins with a training forward and ends when the next one follows an optimizer step") {
  const FreshClock fresh;
  const observe::Recording heard;
  step_clock::note_forward_op(false);
  CHECK(step_clock::current() == kNoStep);  // evaluation before training is no step
  step_clock::note_forward_op(true);
  step_clock::note_forward_op(true);
  CHECK(step_clock::current() == 0);
  step_clock::note_optimizer_step();
  CHECK(step_clock::current() == 0);  // scaler.update() after it still belongs to the step
  step_clock::note_optimizer_step();  // a second optimizer in the same step
  step_clock::note_forward_op(true);
  CHECK(step_clock::current() == 1);
  step_clock::note_optimizer_step();
  step_clock::note_forward_op(false);  // evaluation after the last step
  CHECK(step_clock::current() == kNoStep);
  REQUIRE(heard.steps.size() == 4);
  CHECK(heard.steps[0].end == 0);
  CHECK(heard.steps[1].end == 1);
  CHECK(heard.steps[3].step == 1);
}

TEST_CASE("accumulating over several backwards is one step") {
  const FreshClock fresh;
  const observe::Recording heard;
  for (int micro = 0; micro < 4; ++micro) step_clock::note_forward_op(true);
  CHECK(step_clock::current() == 0);
}

TEST_CASE("marking steps by hand switches inference off") {
  const FreshClock fresh;
  const observe::Recording heard;
  step_clock::mark_step();
  CHECK(step_clock::current() == 0);
  step_clock::note_optimizer_step();
  step_clock::note_forward_op(true);
  CHECK(step_clock::current() == 0);
  step_clock::mark_step();
  CHECK(step_clock::current() == 1);
}

TEST_CASE("sampling and the window take their forms and refuse others") {
  const FreshClock fresh;
  const observe::Recording heard;
  CHECK(step_clock::set_sampling("every=2"));
  for (const char* bad : {"", "every", "every=", "every=0", "every=-1x", "every=2 ", "2", "on"})
    CHECK_FALSE(step_clock::set_sampling(bad));
  CHECK(step_clock::set_window("1:3"));
  for (const char* bad : {"", "1", "1:", ":3", "3:1", "2:2", "a:b", "1:3x"}) CHECK_FALSE(step_clock::set_window(bad));
  const bool recorded[] = {false, true, true, false}, sampled[] = {false, true, false, false};
  for (int step = 0; step < 4; ++step) {
    step_clock::note_forward_op(true);
    CHECK(step_clock::recorded() == recorded[step]);
    CHECK(step_clock::sampled() == sampled[step]);
    step_clock::note_optimizer_step();
  }
}
