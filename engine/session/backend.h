// SPDX-License-Identifier: GPL-3.0-or-later
// The engine as one shared library sees its user: everything that the window asks of it, behind one
// interface, so that the window starts without LibTorch and opens the library afterwards.
#pragma once

#include "session/export.h"
#include "session/preflight.h"
#include "session/session.h"

namespace stillroom::session {

struct DeviceFacts {
    std::string name; // "NVIDIA H200", or "CPU"
    bool gpu = false;
    int64_t total_bytes = 0, free_bytes = 0; // of the GPU; 0 without one
};

class Backend {
public:
    virtual ~Backend() = default;

    // One session: see session.h.
    virtual void start(RunRequest request) = 0;
    virtual void send(Command command) = 0;
    /// The next event that waits, if any.
    virtual std::optional<Event> next_event() = 0;
    virtual bool over() const = 0;
    virtual record::RunState state() const = 0;
    virtual Result<void> wait() = 0;

    // Jobs beside a session, on the caller's thread.
    virtual Result<Exported> export_checkpoint(const std::filesystem::path& run, int64_t step,
                                               const std::filesystem::path& to, const std::string& dtype) = 0;
    virtual Result<std::vector<Finding>> preflight(const PreflightRequest& request,
                                                   const std::function<bool(const Finding&)>& each) = 0;
    virtual std::vector<std::pair<std::string, std::string>> preflight_checks() const = 0;
    virtual Result<MemoryForecast> memory_forecast(const PreflightRequest& request) = 0;
    virtual DeviceFacts device() const = 0;
    /// Name and version of what the engine is linked with.
    virtual std::vector<std::pair<std::string, std::string>> versions() const = 0;
};

/// The one symbol that the library exports is `stillroom_backend`, of this type.
using MakeBackend = Backend* (*)();

} // namespace stillroom::session
