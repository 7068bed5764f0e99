// SPDX-License-Identifier: GPL-3.0-or-later
// A preflight on a thread of its own; its findings arrive on the window's thread one by one.
#pragma once

#include "session/preflight.h"

#include <QObject>
#include <QString>
#include <thread>

namespace stillroom::ui {

/// session::preflight, or what a test puts in its place.
using Preflight = std::function<Result<std::vector<session::Finding>>(
    const session::PreflightRequest& request, const std::function<bool(const session::Finding&)>& each)>;

class PreflightRun : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;
    /// Cancels, and waits.
    ~PreflightRun() override;

    void start(const Preflight& preflight, session::PreflightRequest request);
    /// Ends within a finding; done() follows.
    void cancel() { cancelled_ = true; }
    bool running() const { return running_; }

Q_SIGNALS:
    void found(const stillroom::session::Finding& finding);
    /// `fault` is empty where it went to its end or was cancelled.
    void done(const QString& fault);

private:
    std::thread thread_;
    std::atomic<bool> cancelled_ = false;
    bool running_ = false;
};

} // namespace stillroom::ui
