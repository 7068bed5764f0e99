// SPDX-License-Identifier: GPL-3.0-or-later
// The engine of this process: a shared library that is opened on a thread of its own after the window is
// shown (LibTorch takes seconds to come up), and its events, drained on the window's timer.
#pragma once

#include "session/backend.h"

#include <QObject>
#include <QPointer>
#include <QString>
#include <functional>
#include <memory>
#include <thread>

namespace stillroom::ui {

class Engine : public QObject {
    Q_OBJECT
public:
    enum class State { Loading, Ready, Failed };

    explicit Engine(QObject* parent = nullptr);
    /// Ends a run as "stop after this step" does, and waits for it.
    ~Engine() override;

    /// Opens the library; loaded() or failed() follows. Once.
    void load();
    State state() const { return state_; }
    const QString& fault() const { return fault_; }
    const session::DeviceFacts& device() const { return device_; }
    const std::vector<std::pair<std::string, std::string>>& versions() const { return versions_; }

    /// Whether a run of this process has not ended.
    bool busy() const { return !run_.empty(); }
    /// The folder of that run; empty: none.
    const std::filesystem::path& run() const { return run_; }

    /// Starts a run; none may be going on, and the engine is ready.
    void start(session::RunRequest request);
    void send(session::Command command);

    /// A job that may take long, on a thread of its own; `done` comes on this thread unless `context` is
    /// gone.
    template <typename Work, typename Done>
    void job(QObject* context, Work work, Done done) {
        jobs_.emplace_back([this, guard = QPointer<QObject>(context), work = std::move(work),
                            done = std::move(done)]() mutable {
            auto result = std::make_shared<decltype(work(*backend_))>(work(*backend_));
            QMetaObject::invokeMethod(this, [guard, result, done = std::move(done)]() mutable {
                if (guard) done(std::move(*result));
            });
        });
    }

    session::Backend& backend() { return *backend_; }

Q_SIGNALS:
    void loaded();
    void failed(const QString& why);
    /// An event of the run, in order.
    void event(const stillroom::session::Event& event);
    /// A run was started in this folder; the run has ended and every event was taken.
    void started(const QString& folder);
    void ended(const QString& folder);

private:
    void open();
    void drain();

    std::unique_ptr<session::Backend> backend_;
    std::thread loader_;
    std::vector<std::thread> jobs_;
    State state_ = State::Loading;
    QString fault_;
    session::DeviceFacts device_;
    std::vector<std::pair<std::string, std::string>> versions_;
    std::filesystem::path run_;
};

} // namespace stillroom::ui
