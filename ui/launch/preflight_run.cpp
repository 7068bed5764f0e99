// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/launch/preflight_run.h"

namespace stillroom::ui {

PreflightRun::~PreflightRun() {
    cancel();
    if (thread_.joinable()) thread_.join();
}

void PreflightRun::start(const Preflight& preflight, session::PreflightRequest request) {
    if (running_) return;
    if (thread_.joinable()) thread_.join();
    running_ = true;
    cancelled_ = false;
    thread_ = std::thread([this, preflight, request = std::move(request)]() mutable {
        request.cancel = &cancelled_;
        const auto result = preflight(request, [this](const session::Finding& finding) {
            QMetaObject::invokeMethod(this, [this, finding] { Q_EMIT found(finding); });
            return !cancelled_;
        });
        const QString fault = result ? QString() : QString::fromStdString(result.error().message());
        QMetaObject::invokeMethod(this, [this, fault] {
            running_ = false;
            Q_EMIT done(fault);
        });
    });
}

} // namespace stillroom::ui
