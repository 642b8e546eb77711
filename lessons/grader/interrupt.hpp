// Ctrl-C and its kin: asked for now and then, so that whoever works can put things in order before they stop.
#pragma once

namespace tapestry::grader {

/// From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT are remembered instead of ending the program.
void watch_for_interrupts();
/// Whether one has come.
bool interrupted();

}  // namespace tapestry::grader
