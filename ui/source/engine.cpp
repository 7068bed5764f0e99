// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/source/engine.h"

#include <QCoreApplication>
#include <QTimer>
#include <dlfcn.h>

namespace stillroom::ui {

namespace {

/// Where the engine's library lies: beside the program, or in the build's or an installation's lib folder.
std::vector<QString> library_places() {
    const QString here = QCoreApplication::applicationDirPath(),
                  name = QStringLiteral(STILLROOM_ENGINE_LIBRARY);
    return {here + "/" + name, here + "/../lib/" + name, here + "/../lib/stillroom/" + name, name};
}

struct Opened {
    session::Backend* backend = nullptr;
    QString fault;
};

Opened open_library() {
    Opened opened;
    for (const QString& place : library_places()) {
        // RTLD_LOCAL: the library keeps its own copies of what the window links too.
        void* library = dlopen(place.toUtf8().constData(), RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            const QString why = QString::fromUtf8(dlerror());
            if (opened.fault.isEmpty() || !why.contains("No such file")) opened.fault = why;
            continue;
        }
        const auto make = reinterpret_cast<session::MakeBackend>(dlsym(library, "stillroom_backend"));
        if (!make) return {nullptr, place + ": " + QString::fromUtf8(dlerror())};
        return {make(), {}};
    }
    return opened;
}

} // namespace

Engine::Engine(QObject* parent) : QObject(parent) {
    auto* timer = new QTimer(this);
    timer->setInterval(50);
    connect(timer, &QTimer::timeout, this, &Engine::drain);
    timer->start();
}

Engine::~Engine() {
    if (loader_.joinable()) loader_.join();
    for (auto& job : jobs_) job.join();
    if (backend_ && !run_.empty()) {
        backend_->send(session::StopAfterStep{});
        (void)backend_->wait(); // what went wrong is in the run's own record
    }
}

void Engine::load() {
    loader_ = std::thread([this] {
        const Opened opened = open_library();
        session::DeviceFacts device;
        std::vector<std::pair<std::string, std::string>> versions;
        if (opened.backend) {
            device = opened.backend->device();
            versions = opened.backend->versions();
        }
        QMetaObject::invokeMethod(this, [this, opened, device, versions] {
            backend_.reset(opened.backend);
            device_ = device;
            versions_ = versions;
            fault_ = opened.fault;
            state_ = backend_ ? State::Ready : State::Failed;
            if (backend_) {
                Q_EMIT loaded();
            } else {
                Q_EMIT failed(fault_);
            }
        });
    });
}

void Engine::start(session::RunRequest request) {
    run_ = request.run;
    backend_->start(std::move(request));
    Q_EMIT started(QString::fromStdString(run_.string()));
}

void Engine::send(session::Command command) {
    if (busy()) backend_->send(std::move(command));
}

void Engine::drain() {
    if (run_.empty()) return;
    while (const auto next = backend_->next_event()) Q_EMIT event(*next);
    if (!backend_->over()) return;
    const QString folder = QString::fromStdString(run_.string());
    run_.clear();
    Q_EMIT ended(folder);
}

} // namespace stillroom::ui
