// SPDX-License-Identifier: GPL-3.0-or-later
#include "record/liveness.h"

#include "base/strings.h"

#include <chrono>
#include <ctime>
#include <fstream>
#include <optional>
#include <sstream>
#include <sys/utsname.h>
#include <unistd.h>

namespace stillroom::record {

namespace {

/// The start time of a process that runs; nothing for one that is gone or dead but not yet waited for.
std::optional<int64_t> start_ticks_of(int64_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    if (!std::getline(file, line)) return std::nullopt;
    const size_t name_end = line.rfind(')'); // the name may itself hold blanks and brackets
    if (name_end == std::string::npos) return std::nullopt;
    std::istringstream rest(line.substr(name_end + 1));
    std::string field;
    rest >> field; // field 3: the state
    if (field == "Z" || field == "X" || field == "x") return std::nullopt;
    for (int number = 4; number <= 22; ++number) {
        if (!(rest >> field)) return std::nullopt;
    }
    try {
        return std::stoll(field);
    } catch (const std::exception&) {
        return std::nullopt;
    }
}

std::string first_line(const char* path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return std::string(trimmed(line));
}

} // namespace

ProcessIdentity this_process() {
    ProcessIdentity self;
    self.pid = getpid();
    self.start_ticks = start_ticks_of(self.pid).value_or(0);
    self.boot = first_line("/proc/sys/kernel/random/boot_id");
    utsname names{};
    if (uname(&names) == 0) self.host = names.nodename;
    char target[64] = {};
    const ssize_t length = readlink("/proc/self/ns/pid", target, sizeof target - 1);
    if (length > 0) self.pid_namespace.assign(target, size_t(length));
    return self;
}

Presence presence(const ProcessIdentity& process) {
    const ProcessIdentity self = this_process();
    if (process.boot == self.boot && process.pid_namespace == self.pid_namespace) {
        return process.pid > 0 && start_ticks_of(process.pid) == process.start_ticks ? Presence::Alive
                                                                                     : Presence::Gone;
    }
    if (process.host == self.host && process.boot != self.boot)
        return Presence::Gone; // before a restart of this machine
    return Presence::Unknown;
}

double unix_time() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string clock_text(double unix_seconds) {
    const auto seconds = std::time_t(unix_seconds);
    std::tm broken_down{};
    char text[32];
    if (!localtime_r(&seconds, &broken_down) || std::strftime(text, sizeof text, "%F %T", &broken_down) == 0)
        return "?";
    return text;
}

} // namespace stillroom::record
