// Deferred handling of Ctrl-C and similar signals, so that running code can clean up before it stops.
#pragma once

namespace tapestry::grader {

/// Records SIGINT, SIGTERM, SIGHUP and SIGQUIT from now on; they no longer end the program.
void watch_for_interrupts();
/// Returns true if one of these signals has arrived.
bool interrupted();

}  // namespace tapestry::grader
