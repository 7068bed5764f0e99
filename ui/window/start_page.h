// SPDX-License-Identifier: GPL-3.0-or-later
// What a newcomer sees: three cards, what device was found, and the recorded runs that can be resumed.
#pragma once

#include "record/run_summary.h"

#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>
#include <QWidget>

namespace stillroom::ui {

class StartPage : public QWidget {
    Q_OBJECT
public:
    explicit StartPage(QWidget* parent = nullptr);
    /// The line about the device: "GPU: none found. ..."; "Engine loading".
    void set_device(const QString& text);
    /// Whether runs can be started; `why` not.
    void set_ready(bool ready, const QString& why);
    /// A run that ended without closing: offers to resume it.
    void set_interrupted(const record::RunSummary* run);

Q_SIGNALS:
    void sampleWanted();
    void selfSampleWanted();
    void newRunWanted();
    void openWanted();
    void resumeWanted(const QString& run);
    void viewWanted(const QString& run);

private:
    QPushButton* card(const QString& name, const QString& title, const QString& text, QLayout* into);

    QPushButton *sample_, *self_sample_;
    QLabel *device_, *interrupted_text_;
    QWidget* interrupted_;
    QPushButton *resume_, *look_;
    QString interrupted_run_;
};

} // namespace stillroom::ui
