// SPDX-License-Identifier: GPL-3.0-or-later
// A thread that reads one run's store, so that no query ever runs on the window's thread.
#pragma once

#include "record/queries.h"

#include <QObject>
#include <QPointer>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace stillroom::ui {

class StoreReader : public QObject {
    Q_OBJECT
public:
    explicit StoreReader(std::filesystem::path run, QObject* parent = nullptr);
    /// Waits for the query at hand; those that wait are dropped.
    ~StoreReader() override;

    /// Runs `work(record::RunReader&)`, which gives a Result, on the reader's thread, in the order of asking;
    /// then `deliver(that result)` on this thread, unless `context` is gone by then. Where the store can't be
    /// opened `deliver` gets that error.
    template <typename Work, typename Deliver>
    void ask(QObject* context, Work work, Deliver deliver) {
        using Answer = std::invoke_result_t<Work, record::RunReader&>;
        post([this, guard = QPointer<QObject>(context), work = std::move(work),
              deliver = std::move(deliver)]() mutable {
            auto answer = std::make_shared<Answer>(with_reader<Answer>(work));
            QMetaObject::invokeMethod(this, [guard, answer, deliver = std::move(deliver)]() mutable {
                if (guard) deliver(std::move(*answer));
            });
        });
    }

private:
    template <typename Answer, typename Work>
    Answer with_reader(Work& work) {
        if (!reader_) {
            auto opened = record::RunReader::open(run_);
            if (!opened) return opened.error();
            reader_.emplace(std::move(*opened));
        }
        return work(*reader_);
    }
    void post(std::function<void()> task);
    void loop();

    std::filesystem::path run_;
    std::optional<record::RunReader> reader_; // the thread's alone
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> tasks_;
    bool closing_ = false;
    std::thread thread_;
};

} // namespace stillroom::ui
