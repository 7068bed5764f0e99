// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/source/store_reader.h"

namespace stillroom::ui {

StoreReader::StoreReader(std::filesystem::path run, QObject* parent)
    : QObject(parent), run_(std::move(run)), thread_([this] { loop(); }) {}

StoreReader::~StoreReader() {
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
        tasks_.clear();
    }
    changed_.notify_all();
    thread_.join();
}

void StoreReader::post(std::function<void()> task) {
    {
        const std::lock_guard lock(mutex_);
        tasks_.push_back(std::move(task));
    }
    changed_.notify_all();
}

void StoreReader::loop() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [&] { return closing_ || !tasks_.empty(); });
        if (closing_) return;
        const auto task = std::move(tasks_.front());
        tasks_.pop_front();
        lock.unlock();
        task();
        lock.lock();
    }
}

} // namespace stillroom::ui
