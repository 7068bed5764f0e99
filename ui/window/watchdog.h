// SPDX-License-Identifier: GPL-3.0-or-later
// Measures how long the window's event loop was kept from its work: a tick is due every ten milliseconds, and
// what it comes too late is a stall.
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>
#include <vector>

namespace stillroom::ui {

struct Stalls {
    double seconds = 0;                      // measured for
    double longest = 0, p99 = 0, median = 0; // milliseconds
};

class Watchdog : public QObject {
    Q_OBJECT
public:
    explicit Watchdog(QObject* parent = nullptr);
    Stalls stalls() const;
    /// Forgets what was measured: the window's start, say.
    void restart();

private:
    void tick();

    static constexpr int interval = 10, bins = 4096; // milliseconds; bins of a quarter millisecond
    QTimer timer_;
    QElapsedTimer since_, total_;
    std::vector<int64_t> counts_ = std::vector<int64_t>(bins, 0);
    double longest_ = 0;
};

} // namespace stillroom::ui
