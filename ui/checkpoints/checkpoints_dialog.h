// SPDX-License-Identifier: GPL-3.0-or-later
// The checkpoints of a run: pin, delete, resume, and export as a Hugging Face folder.
#pragma once

#include "ui/models/checkpoints_model.h"
#include "ui/source/engine.h"
#include "ui/source/run_source.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialog>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QTableView>

namespace stillroom::ui {

/// Modeless. Everything that touches the disk is done on other threads.
class CheckpointsDialog : public QDialog {
    Q_OBJECT
public:
    CheckpointsDialog(Engine& engine, RunSource& run, QWidget* parent = nullptr);

    /// Puts the focus on the export of the newest checkpoint.
    void offer_export();

Q_SIGNALS:
    void resumeWanted(const QString& run, qint64 step);

private:
    QWidget* build_export();
    QWidget* build_buttons();
    void read();
    void show_facts(Result<std::vector<session::CheckpointFacts>> facts);
    void update_choice();
    void pin(int64_t step, bool pinned);
    void ask_delete();
    void export_it();
    void say(const QString& text, bool severe = false);
    const session::CheckpointFacts* chosen() const;
    /// Why the chosen checkpoint can't be exported now; empty: it can.
    QString not_exportable() const;

    Engine& engine_;
    QPointer<RunSource> run_;
    std::filesystem::path folder_;
    CheckpointsModel model_;
    bool reading_ = false, again_ = false, exporting_ = false;
    bool named_ = false;    // the person has chosen where to export to
    double free_bytes_ = 0; // where it would go
    QTableView* table_;
    QLabel *summary_, *needs_, *message_;
    QLineEdit* to_;
    QComboBox* dtype_;
    QCheckBox* open_;
    QProgressBar* progress_;
    QPushButton *export_, *resume_, *delete_, *show_;
};

} // namespace stillroom::ui
