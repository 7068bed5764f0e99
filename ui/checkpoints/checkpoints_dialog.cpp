// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/checkpoints/checkpoints_dialog.h"

#include "ui/models/chart_numbers.h"
#include "ui/window/ask.h"
#include "ui/window/theme.h"

#include <QDesktopServices>
#include <QGroupBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QShortcut>
#include <QThreadPool>
#include <QToolButton>
#include <QUrl>
#include <QVBoxLayout>

namespace stillroom::ui {

namespace fs = std::filesystem;

namespace {

QString path_text(const fs::path& path) { return QString::fromStdString(path.string()); }

QPushButton* button(const QString& text, const char* name, const QString& tip) {
    auto* made = new QPushButton(text);
    made->setObjectName(name);
    made->setAutoDefault(false);
    made->setToolTip(tip);
    return made;
}

/// Of the nearest folder above that exists.
double free_bytes(fs::path path) {
    while (!path.empty() && !fs::exists(path)) path = path.parent_path();
    std::error_code code;
    const auto space = fs::space(path, code);
    return code ? 0 : double(space.available);
}

} // namespace

CheckpointsDialog::CheckpointsDialog(Engine& engine, RunSource& run, QWidget* parent)
    : QDialog(parent), engine_(engine), run_(&run), folder_(run.folder()) {
    setObjectName("dlg.checkpoints");
    setWindowTitle("Checkpoints of " + path_text(folder_.filename()));
    setMinimumSize(820, 480);
    table_ = new QTableView;
    table_->setObjectName("table.checkpoints");
    table_->setAccessibleName("Checkpoints");
    table_->setModel(&model_);
    table_->setSelectionBehavior(QAbstractItemView::SelectRows);
    table_->setSelectionMode(QAbstractItemView::SingleSelection);
    table_->setTabKeyNavigation(false);
    table_->verticalHeader()->hide();
    table_->horizontalHeader()->setStretchLastSection(true);
    table_->horizontalHeader()->setHighlightSections(false);
    table_->setShowGrid(false);
    summary_ = new QLabel("Reading the checkpoints…");
    summary_->setObjectName("lbl.checkpoints.summary");
    message_ = new QLabel;
    message_->setObjectName("lbl.checkpoints.message");
    message_->setWordWrap(true);
    message_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    message_->hide();
    progress_ = new QProgressBar;
    progress_->setObjectName("lbl.checkpoints.progress");
    progress_->setRange(0, 0); // the engine tells no parts of it
    progress_->setTextVisible(false);
    progress_->hide();
    auto* layout = new QVBoxLayout(this);
    layout->addWidget(table_, 1);
    layout->addWidget(summary_);
    layout->addWidget(build_export());
    layout->addWidget(progress_);
    layout->addWidget(message_);
    layout->addWidget(build_buttons());

    connect(&model_, &CheckpointsModel::pinWanted, this, &CheckpointsDialog::pin);
    connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            &CheckpointsDialog::update_choice);
    connect(&run, &RunSource::listsChanged, this, &CheckpointsDialog::read);
    connect(&run, &RunSource::statusChanged, this, &CheckpointsDialog::update_choice);
    connect(&engine, &Engine::loaded, this, &CheckpointsDialog::update_choice);
    const auto key = [this](const QKeySequence& keys, auto act) {
        connect(new QShortcut(keys, this), &QShortcut::activated, this, act);
    };
    key(QKeySequence("Ctrl+Return"), [this] { export_->click(); });
    key(QKeySequence(Qt::Key_Delete), [this] { delete_->click(); });
    update_choice();
    read();
}

QWidget* CheckpointsDialog::build_export() {
    auto* group = new QGroupBox("Export as Hugging Face folder");
    to_ = new QLineEdit;
    to_->setObjectName("fld.checkpoints.to");
    to_->setAccessibleName("Folder to write");
    auto* browse = new QToolButton;
    browse->setObjectName("btn.checkpoints.browse");
    browse->setAccessibleName("Choose the folder to write into");
    browse->setText("…");
    dtype_ = new QComboBox;
    dtype_->setObjectName("fld.checkpoints.dtype");
    dtype_->setAccessibleName("Number type of the weights");
    dtype_->addItems({"as trained", "fp32", "bf16"});
    open_ = new QCheckBox("Open the folder when done");
    open_->setObjectName("chk.checkpoints.open");
    needs_ = new QLabel;
    needs_->setObjectName("lbl.checkpoints.needs");
    auto* to_label = new QLabel("&To");
    to_label->setBuddy(to_);
    auto* dtype_label = new QLabel("&Type");
    dtype_label->setBuddy(dtype_);
    auto* first = new QHBoxLayout;
    for (QWidget* widget : std::initializer_list<QWidget*>{to_label, to_, browse, dtype_label, dtype_})
        first->addWidget(widget, widget == to_);
    auto* second = new QHBoxLayout;
    second->addWidget(needs_, 1);
    second->addWidget(open_);
    auto* what = new QLabel("Writes weights, config, generation config, tokenizer and a README with where it "
                            "comes from; then loads it again and compares log-probs.");
    what->setWordWrap(true);
    what->setForegroundRole(QPalette::PlaceholderText);
    auto* layout = new QVBoxLayout(group);
    layout->addLayout(first);
    layout->addWidget(what);
    layout->addLayout(second);
    connect(to_, &QLineEdit::textEdited, this, [this] {
        named_ = true;
        update_choice();
    });
    connect(dtype_, &QComboBox::currentIndexChanged, this, &CheckpointsDialog::update_choice);
    connect(browse, &QToolButton::clicked, this, [this] {
        ask_path(*this,
                 {"dlg.checkpoints.browse", "Folder to write into", Pick::Folder, {}, path_text(folder_)},
                 [this](const QString& into) {
                     to_->setText(into + "/" + path_text(fs::path(to_->text().toStdString()).filename()));
                     named_ = true;
                     update_choice();
                 });
    });
    return group;
}

QWidget* CheckpointsDialog::build_buttons() {
    resume_ = button("&Resume from…", "btn.checkpoints.resume", {});
    delete_ = button("&Delete…", "btn.checkpoints.delete", "Removes the checkpoint from the disk (Del)");
    show_ = button("Open &folder", "btn.checkpoints.folder", "Shows the checkpoint in the file manager");
    export_ = button("&Export", "btn.checkpoints.export", "Ctrl+Return");
    auto* buttons = new QWidget;
    auto* row = new QHBoxLayout(buttons);
    row->setContentsMargins(0, 0, 0, 0);
    row->addWidget(resume_);
    row->addWidget(delete_);
    row->addStretch();
    row->addWidget(show_);
    row->addWidget(export_);
    connect(resume_, &QPushButton::clicked, this, [this] {
        if (const auto* facts = chosen()) Q_EMIT resumeWanted(path_text(folder_), facts->record.step);
    });
    connect(delete_, &QPushButton::clicked, this, &CheckpointsDialog::ask_delete);
    connect(show_, &QPushButton::clicked, this, [this] {
        if (const auto* facts = chosen())
            QDesktopServices::openUrl(QUrl::fromLocalFile(path_text(facts->folder)));
    });
    connect(export_, &QPushButton::clicked, this, &CheckpointsDialog::export_it);
    return buttons;
}

void CheckpointsDialog::offer_export() { export_->setFocus(); }

void CheckpointsDialog::read() {
    if (reading_) {
        again_ = true;
        return;
    }
    reading_ = true;
    QThreadPool::globalInstance()->start([self = QPointer<CheckpointsDialog>(this), folder = folder_] {
        auto facts = session::checkpoint_facts(folder);
        QMetaObject::invokeMethod(qApp, [self, facts = std::move(facts)]() mutable {
            if (self) self->show_facts(std::move(facts));
        });
    });
}

void CheckpointsDialog::show_facts(Result<std::vector<session::CheckpointFacts>> facts) {
    reading_ = false;
    if (!facts) return say(QString::fromStdString(facts.error().message()), true);
    const auto* before = chosen();
    const int64_t step = before ? before->record.step : -1;
    model_.show(std::move(*facts));
    table_->resizeColumnsToContents();
    table_->setCurrentIndex(model_.index(std::max(0, model_.row_of(step)), CheckpointsModel::Step));
    summary_->setText(model_.rowCount() == 0 ? "No checkpoint yet." : model_.summary());
    update_choice();
    if (std::exchange(again_, false)) read();
}

const session::CheckpointFacts* CheckpointsDialog::chosen() const {
    return model_.checkpoint(table_->currentIndex().row());
}

QString CheckpointsDialog::not_exportable() const {
    const auto* facts = chosen();
    if (!facts) return "No checkpoint is chosen.";
    if (facts->record.removed || !facts->on_disk) return "This checkpoint is no longer on the disk.";
    if (engine_.state() != Engine::State::Ready) return "The engine is not ready.";
    if (exporting_) return "An export is going on.";
    if (to_->text().isEmpty()) return "No folder to write is named.";
    if (fs::exists(to_->text().toStdString())) return "The folder exists; nothing is ever overwritten.";
    if (free_bytes_ < double(facts->weights_bytes) * 1.1)
        return QString("Needs %1 and 10 %, %2 are free there.")
            .arg(bytes_text(double(facts->weights_bytes)), bytes_text(free_bytes_));
    return {};
}

void CheckpointsDialog::update_choice() {
    const auto* facts = chosen();
    const bool there = facts && facts->on_disk && !facts->record.removed;
    if (facts && !named_) {
        const auto name = folder_.filename().string() + "-" + std::to_string(facts->record.step);
        to_->setText(path_text(session::new_run_folder(folder_ / "export", name)));
    }
    free_bytes_ = free_bytes(to_->text().toStdString());
    const QString why = not_exportable();
    export_->setEnabled(why.isEmpty());
    needs_->setText(!why.isEmpty()
                        ? why
                        : QString("Needs about %1, %2 free.")
                              .arg(bytes_text(double(facts->weights_bytes)), bytes_text(free_bytes_)));
    needs_->setStyleSheet(why.isEmpty() ? QString() : "color: " + colour(Role::Wait, palette()).name());
    const bool ended = run_ && run_->status().driver == Driver::Nobody;
    const auto newest = run_ ? run_->status().summary.resumable_from : std::nullopt;
    const bool resumable = there && newest && *newest == facts->record.step;
    resume_->setEnabled(resumable && ended && !engine_.busy());
    resume_->setToolTip(resumable ? "Goes on with the run bit for bit"
                                  : "A run is resumed from its newest checkpoint");
    delete_->setEnabled(there && !facts->pinned);
    show_->setEnabled(there);
}

void CheckpointsDialog::pin(int64_t step, bool pinned) {
    QThreadPool::globalInstance()->start(
        [self = QPointer<CheckpointsDialog>(this), folder = folder_, step, pinned] {
            auto done = session::pin_checkpoint(folder, step, pinned);
            QMetaObject::invokeMethod(qApp, [self, done] {
                if (!self) return;
                if (!done) self->say(QString::fromStdString(done.error().message()), true);
                self->read();
            });
        });
}

void CheckpointsDialog::ask_delete() {
    const auto* facts = chosen();
    if (!facts) return;
    const int64_t step = facts->record.step;
    const QString score =
        facts->record.score ? "score " + short_number(*facts->record.score) : QString("not evaluated");
    ask(*this, "dlg.checkpoints.delete", "Delete a checkpoint",
        QString("Checkpoint %1 of %2: %3, %4. This cannot be undone.")
            .arg(step)
            .arg(path_text(folder_.filename()), bytes_text(double(facts->record.bytes)), score),
        {{"btn.checkpoints.keep", "Keep it", [] {}},
         {"btn.checkpoints.remove", QString("Delete checkpoint %1").arg(step),
          [this, step] {
              QThreadPool::globalInstance()->start(
                  [self = QPointer<CheckpointsDialog>(this), folder = folder_, step] {
                      auto done = session::delete_checkpoint(folder, step);
                      QMetaObject::invokeMethod(qApp, [self, done, step] {
                          if (!self) return;
                          self->say(done ? QString("Checkpoint %1 was deleted.").arg(step)
                                         : QString::fromStdString(done.error().message()),
                                    !done);
                          self->read();
                          if (self->run_) self->run_->refresh();
                      });
                  });
          }}},
        0);
}

void CheckpointsDialog::export_it() {
    const auto* facts = chosen();
    if (!facts || !not_exportable().isEmpty()) return update_choice();
    exporting_ = true;
    progress_->show();
    say(QString("Exporting checkpoint %1 and loading it again…").arg(facts->record.step));
    const fs::path to = to_->text().toStdString();
    const char* dtypes[] = {"auto", "fp32", "bf16"};
    engine_.job(
        this,
        [folder = folder_, step = facts->record.step, to,
         dtype = std::string(dtypes[dtype_->currentIndex()])](session::Backend& backend) {
            std::error_code ignored; // the export says what is wrong
            fs::create_directories(to.parent_path(), ignored);
            return backend.export_checkpoint(folder, step, to, dtype);
        },
        [this](Result<session::Exported> exported) {
            exporting_ = false;
            named_ = false;
            progress_->hide();
            if (exported) {
                say(QString("Verified: step %1 in %2, %3; %4 log-probs compared, largest difference %5 nats.")
                        .arg(exported->step)
                        .arg(path_text(exported->folder), bytes_text(double(exported->bytes)))
                        .arg(exported->compared)
                        .arg(exported->largest_difference));
                if (open_->isChecked())
                    QDesktopServices::openUrl(QUrl::fromLocalFile(path_text(exported->folder)));
            } else {
                say(QString::fromStdString(exported.error().message()), true);
            }
            update_choice();
        });
    update_choice();
}

void CheckpointsDialog::say(const QString& text, bool severe) {
    message_->setText(text);
    message_->setStyleSheet("color: " + colour(severe ? Role::Stop : Role::Info, palette()).name());
    message_->setVisible(!text.isEmpty());
}

} // namespace stillroom::ui
