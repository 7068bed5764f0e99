// SPDX-License-Identifier: GPL-3.0-or-later
// Who works on a run, and whether that process is still there: a process id alone is reused, so its start
// time, the boot and the machine are kept with it.
#pragma once

#include <cstdint>
#include <string>

namespace stillroom::record {

struct ProcessIdentity {
    int64_t pid = 0;
    int64_t start_ticks = 0;   // field 22 of /proc/<pid>/stat, clock ticks since boot
    std::string boot;          // /proc/sys/kernel/random/boot_id
    std::string host;          // of uname
    std::string pid_namespace; // a container's pids are not another's
};
ProcessIdentity this_process();

enum class Presence { Alive, Gone, Unknown }; // Unknown: of another machine or container
Presence presence(const ProcessIdentity& process);

/// Seconds since 1970, with fractions.
double unix_time();
/// "2026-03-14 09:26:53", local time.
std::string clock_text(double unix_seconds);

/// A live run without a sign of life for longer than this is doubted (ui.md 6.2).
inline constexpr double heartbeat_limit_seconds = 15;

} // namespace stillroom::record
