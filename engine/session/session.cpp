// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/session.h"

#include "session/engine.h"

#include <ctime>

namespace stillroom::session {

Session::Session() : engine_(std::make_unique<Engine>()) {}

Session::~Session() {
    if (engine_->thread.joinable()) {
        send(StopAfterStep{});
        engine_->thread.join();
    }
}

void Session::start(RunRequest request) {
    if (engine_->thread.joinable()) engine_->thread.join(); // a run that has ended
    engine_->begin(std::move(request));
}

void Session::send(Command command) { engine_->channel.post_command(std::move(command)); }
std::optional<Event> Session::next_event(std::chrono::milliseconds timeout) {
    return engine_->channel.next_event(timeout);
}
bool Session::over() const { return engine_->channel.over(); }
record::RunState Session::state() const { return engine_->state; }

Result<void> Session::wait() {
    if (engine_->thread.joinable()) engine_->thread.join();
    return engine_->outcome;
}

Result<double> deadline_time(const std::string& text, double started) {
    std::tm date{};
    if (const char* rest = strptime(text.c_str(), "%Y-%m-%d %H:%M", &date); rest && *rest == '\0') {
        date.tm_isdst = -1;
        return double(std::mktime(&date));
    }
    double seconds = 0;
    size_t at = 0;
    while (at < text.size()) {
        size_t used = 0;
        double amount = 0;
        try {
            amount = std::stod(text.substr(at), &used);
        } catch (const std::exception&) {
            used = 0;
        }
        const size_t unit = at + used;
        const double length = unit >= text.size() ? 0
                              : text[unit] == 'd' ? 86400
                              : text[unit] == 'h' ? 3600
                              : text[unit] == 'm' ? 60
                              : text[unit] == 's' ? 1
                                                  : 0;
        if (used == 0 || length == 0 || amount < 0) {
            return Error{"deadline \"" + text +
                         "\" is neither a time like 2h30m nor a date like 2026-12-24 18:00"};
        }
        seconds += amount * length;
        at = unit + 1;
    }
    if (seconds <= 0) return Error{"deadline \"" + text + "\" leaves no time"};
    return started + seconds;
}

} // namespace stillroom::session
