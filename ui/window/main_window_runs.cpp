// SPDX-License-Identifier: GPL-3.0-or-later
// Which run the window shows, and what its menus do with it.
#include "base/files.h"
#include "base/strings.h"
#include "formats/recipe.h"
#include "record/queries.h"
#include "ui/checkpoints/checkpoints_dialog.h"
#include "ui/docks/alarms_dock.h"
#include "ui/docks/facts_dock.h"
#include "ui/docks/log_dock.h"
#include "ui/docks/runs_dock.h"
#include "ui/docks/timeline_dock.h"
#include "ui/launch/launch_dialog.h"
#include "ui/window/ask.h"
#include "ui/window/help.h"
#include "ui/window/main_window.h"
#include "ui/window/run_bar.h"
#include "ui/window/start_page.h"
#include "ui/window/theme.h"
#include "ui/window/view.h"

#include <QApplication>
#include <QClipboard>
#include <QCloseEvent>
#include <QDesktopServices>
#include <QDir>
#include <QMenu>
#include <QUrl>

namespace stillroom::ui {

namespace {

bool is_ended(record::RunState state) {
    using enum record::RunState;
    return state == Finished || state == Stopped || state == Failed || state == Interrupted;
}

} // namespace

void MainWindow::set_run(std::unique_ptr<RunSource> run) {
    for (int i = 0; i < views_->count(); ++i) static_cast<View*>(views_->widget(i))->show_run(run.get());
    alarms_dock_->show_run(run.get());
    facts_dock_->show_run(run.get());
    timeline_dock_->show_run(run.get());
    log_dock_->show_run(run.get());
    cursor_.set_step(std::nullopt);
    cursor_.select(std::nullopt);
    run_ = std::move(run);
    if (run_) {
        connect(run_.get(), &RunSource::statusChanged, this, &MainWindow::update_status);
        connect(run_.get(), &RunSource::statusChanged, this, &MainWindow::update_actions);
        connect(run_.get(), &RunSource::listsChanged, this, &MainWindow::update_status);
        connect(run_.get(), &RunSource::listsChanged, this, &MainWindow::update_actions);
    }
    say({});
    show_page();
    update_status();
    update_actions();
}

void MainWindow::open_run(const QString& folder) {
    const std::filesystem::path path = std::filesystem::absolute(folder.toStdString()).lexically_normal();
    const bool here = engine_.busy() && engine_.run() == path;
    std::error_code ignored;
    if (!here && !std::filesystem::exists(path / "run.sqlite", ignored)) {
        say(folder + " is not there, or holds no run (no run.sqlite).", true);
        return;
    }
    if (run_ && run_->folder() == path) return;
    set_run(std::make_unique<RunSource>(path, here ? &engine_ : nullptr));
    remember(QString::fromStdString(path.string()));
    if (runs_.row_of(folder) < 0) runs_.add(QString::fromStdString(path.string()));
    runs_dock_->set_current(QString::fromStdString(path.string()));
}

void MainWindow::start_run(session::RunRequest request) {
    if (engine_.state() != Engine::State::Ready || engine_.busy()) {
        say(engine_.busy() ? "A run is training here; a second one can't start beside it."
                           : "The engine isn't ready.",
            true);
        return;
    }
    std::error_code ignored;
    std::filesystem::create_directories(request.run.parent_path(), ignored); // the engine says what is wrong
    request.run = std::filesystem::absolute(request.run).lexically_normal();
    const QString folder = QString::fromStdString(request.run.string());
    engine_.start(std::move(request));
    open_run(folder);
    runs_.refresh();
    show_view(0);
}

void MainWindow::start_shipped(const QString& name) {
    auto file = formats::find_recipe(name.toStdString());
    auto recipe = file ? formats::read_recipe(*file) : Result<formats::Recipe>(file.error());
    if (!recipe) return say(QString::fromStdString(recipe.error().message()), true);
    session::RunRequest request;
    request.run = session::new_run_folder(options_.runs_folder.toStdString(), recipe->run.name);
    request.recipe = std::move(*recipe);
    start_run(std::move(request));
}

void MainWindow::resume_run(const QString& folder) {
    session::RunRequest request;
    request.run = folder.toStdString();
    request.resume = true;
    auto recipe = formats::read_recipe(request.run / "recipe.toml");
    if (!recipe) return say(QString::fromStdString(recipe.error().message()), true);
    request.recipe = std::move(*recipe);
    set_run(nullptr);
    start_run(std::move(request));
}

void MainWindow::close_run() {
    if (run_ && run_->takes_commands()) return ask_close();
    set_run(nullptr);
    runs_dock_->set_current({});
    look_for_interrupted();
}

void MainWindow::remember(const QString& run) {
    settings_.recent.removeAll(run);
    settings_.recent.prepend(run);
    settings_.recent = settings_.recent.mid(0, 10);
    settings_.last_run = run;
    file_.save(settings_);
    fill_recent();
}

void MainWindow::fill_recent() {
    QMenu* menu = actions_.menu("menu.file.recent");
    menu->clear();
    for (const QString& run : settings_.recent) {
        QAction* action = menu->addAction(run, this, [this, run] { open_run(run); });
        action->setObjectName("act.file.recent." + QString::number(menu->actions().size()));
        action->setEnabled(QDir(run).exists());
    }
    if (settings_.recent.isEmpty()) menu->addAction("No run was opened yet")->setEnabled(false);
}

void MainWindow::look_for_interrupted() {
    const record::RunSummary* found = nullptr;
    for (int row = 0; row < runs_.rowCount() && !found; ++row) {
        if (runs_.summary(row).state == record::RunState::Interrupted && runs_.summary(row).fault.empty())
            found = &runs_.summary(row);
    }
    start_->set_interrupted(found);
}

void MainWindow::update_status() {
    const QString engine_text = engine_.state() == Engine::State::Loading  ? "Engine loading"
                                : engine_.state() == Engine::State::Failed ? "No engine"
                                                                           : "No run open";
    bar_->show_status(run_.get(), engine_text);
    fields_->show_status(run_.get(), engine_, cursor_.step());
    hints_->show_run(run_.get(), settings_.hints);
    if (!run_) {
        setWindowTitle("Stillroom");
        return;
    }
    const RunStatus& status = run_->status();
    QString title = "Stillroom - " + status.name;
    if (status.steps_planned > 0) title += QString(" - %1 %").arg(100 * status.step / status.steps_planned);
    if (!status.fault.isEmpty()) {
        title += " [damaged]";
    } else if (status.driver == Driver::Elsewhere || status.driver == Driver::Unreachable) {
        title += " [elsewhere]";
    } else if (status.driver == Driver::Nobody) {
        title += " [recorded]";
    }
    setWindowTitle(title);
    if (!status.fault.isEmpty()) {
        say("The record can't be read: " + status.fault, true);
    } else if (!status.recording) {
        say("Recording paused: " + status.recording_text +
                " Training goes on; what isn't written waits in memory.",
            true);
    } else if (status.state == record::RunState::Failed) {
        say(status.name + " failed: " + status.text, true);
    } else if (status.state == record::RunState::Interrupted) {
        say(QString::fromStdString(record::state_line(status.summary)));
    } else {
        say({});
    }
}

void MainWindow::update_actions() {
    const QString no_run = "no run is open";
    const bool ready = engine_.state() == Engine::State::Ready;
    const QString not_idle = !ready           ? "the engine is not ready"
                             : engine_.busy() ? "a run is training here"
                                              : QString();
    actions_.allow("act.file.sample", not_idle);
    actions_.allow("act.file.sampleSelf", not_idle);
    start_->set_ready(not_idle.isEmpty(), not_idle);
    start_->set_device(
        engine_.state() == Engine::State::Loading  ? "Engine loading…"
        : engine_.state() == Engine::State::Failed ? "The engine could not be loaded: " + engine_.fault()
        : engine_.device().gpu
            ? QString("GPU: %1, %2 GiB free of %3.")
                  .arg(QString::fromStdString(engine_.device().name))
                  .arg(double(engine_.device().free_bytes) / (1 << 30), 0, 'f', 1)
                  .arg(double(engine_.device().total_bytes) / (1 << 30), 0, 'f', 1)
            : QString("GPU: none found. The sample runs on this CPU; real models need an NVIDIA GPU "
                      "with 24 GB or more."));

    const RunStatus* status = run_ ? &run_->status() : nullptr;
    const auto state = status ? status->state : record::RunState::Finished;
    const QString foreign =
        !run_                    ? no_run
        : run_->takes_commands() ? QString()
        : is_ended(state)        ? "this run has ended"
                          : QString("this run is driven by process %1").arg(status->summary.process.pid);
    using enum record::RunState;
    const bool paused = state == Paused, pausing = state == Pausing;
    const bool steps = state == Running || state == Evaluating || state == Saving;
    const QString busy = state == Preparing  ? "the models are being loaded"
                         : state == Stopping ? "the run is stopping"
                                             : QString();
    const auto live = [&](bool fits) {
        return !foreign.isEmpty() ? foreign : !busy.isEmpty() ? busy : fits ? QString() : "not now";
    };
    actions_["act.run.pause"].setText(paused || pausing ? (pausing ? "&Keep Running" : "&Resume") : "&Pause");
    actions_["act.run.pause"].setIconText(paused ? "Resume" : pausing ? "Keep running" : "Pause");
    actions_["act.run.pause"].setIcon(
        icon(paused || pausing ? "play" : "pause", palette().color(QPalette::ButtonText)));
    actions_.allow("act.run.pause", live(steps || paused || pausing));
    actions_.allow("act.run.stopStep", live(steps || paused || pausing));
    actions_.allow("act.run.stopNow", foreign);
    actions_.allow("act.run.checkpoint", live(steps || paused || pausing));
    const bool evaluates =
        run_ && run_->settings().count("evaluation.data") && !run_->settings().at("evaluation.data").empty();
    actions_.allow("act.run.evaluate", evaluates ? live(steps || paused || pausing)
                                       : run_    ? "the recipe names no evaluation data"
                                                 : no_run);
    actions_.allow("act.run.preflight",
                   launch_ && launch_->isVisible() ? QString() : "open the launch dialog (Ctrl+N)");
    actions_.allow("act.run.start",
                   launch_ && launch_->isVisible() ? not_idle : "open the launch dialog (Ctrl+N)");

    const bool has_checkpoint = run_ && status->summary.resumable_from.has_value();
    const QString no_checkpoint = !run_            ? no_run
                                  : has_checkpoint ? QString()
                                                   : "the run has no complete checkpoint";
    const bool ended = run_ && is_ended(state) && !run_->takes_commands();
    actions_.allow("act.file.resume", !run_                 ? no_run
                                      : !not_idle.isEmpty() ? not_idle
                                      : !ended              ? "the run has not ended"
                                                            : no_checkpoint);
    actions_.allow("act.exp.checkpoints", run_ ? QString() : no_run);
    actions_.allow("act.exp.hf", !no_checkpoint.isEmpty() ? no_checkpoint : ready ? QString() : not_idle);
    for (const char* name :
         {"act.file.duplicate", "act.file.exportRecipe", "act.file.copyCommand", "act.file.close",
          "act.run.openFolder", "act.exp.charts", "act.exp.chartImage", "act.exp.metrics"})
        actions_.allow(name, run_ ? QString() : no_run);
}

void MainWindow::connect_actions() {
    const auto on = [&](const char* name, auto action) {
        connect(&actions_[name], &QAction::triggered, this, action);
    };
    on("act.file.new", [this] {
        launch_dialog().show();
        launch_dialog().raise();
        update_actions();
    });
    on("act.file.sample", [this] { start_shipped("sample-opd"); });
    on("act.file.sampleSelf", [this] { start_shipped("sample-opsd"); });
    on("act.file.open", [this] {
        ask_path(*this, {"dlg.open", "Open run folder", Pick::Folder, {}, options_.runs_folder},
                 [this](const QString& run) { open_run(run); });
    });
    on("act.file.duplicate", [this] {
        auto recipe = formats::read_recipe(run_->folder() / "recipe.toml");
        if (!recipe) return say(QString::fromStdString(recipe.error().message()), true);
        launch_dialog().set_recipe(*recipe);
        launch_dialog().show();
        update_actions();
    });
    on("act.file.resume", [this] { resume_run(QString::fromStdString(run_->folder().string())); });
    on("act.file.importRecipe", [this] {
        ask_path(*this, {"dlg.importRecipe", "Import recipe", Pick::File, "toml", {}},
                 [this](const QString& file) {
                     auto recipe = formats::read_recipe(file.toStdString());
                     if (!recipe)
                         return say(QString::fromStdString(recipe.error().message()) +
                                        ". Nothing was changed.",
                                    true);
                     launch_dialog().set_recipe(*recipe);
                     launch_dialog().show();
                     update_actions();
                 });
    });
    on("act.file.exportRecipe", [this] {
        ask_path(*this,
                 {"dlg.exportRecipe", "Export recipe", Pick::NewFile, "toml", run_->status().name + ".toml"},
                 [this](const QString& file) {
                     if (!run_) return;
                     auto text = read_file(run_->folder() / "recipe.toml");
                     auto written = text ? write_file(file.toStdString(), *text) : Result<void>(text.error());
                     if (!written) say(QString::fromStdString(written.error().message()), true);
                 });
    });
    on("act.file.copyCommand", [this] { copy_command(); });
    on("act.file.settings", [this] {
        ask_settings(*this, settings_, [this] {
            file_.save(settings_);
            apply_theme(settings_.theme);
            update_status();
        });
    });
    on("act.file.close", [this] { close_run(); });
    on("act.file.quit", [this] { close(); });
    on("act.edit.copy", [this] { front()->copy(false); });
    on("act.edit.copyJson", [this] { front()->copy(true); });
    on("act.edit.selectAll", [this] { front()->select_all(); });
    on("act.edit.find", [this] { front()->find(); });
    on("act.edit.findNext", [this] { front()->find_next(false); });
    on("act.edit.findPrev", [this] { front()->find_next(true); });
    on("act.view.run", [this] { show_view(0); });
    on("act.view.rollouts", [this] { show_view(1); });
    on("act.view.next", [this] { show_view((views_->currentIndex() + 1) % views_->count()); });
    on("act.view.prev",
       [this] { show_view((views_->currentIndex() + views_->count() - 1) % views_->count()); });
    on("act.view.zoomIn", [this] { front()->zoom(1); });
    on("act.view.zoomOut", [this] { front()->zoom(-1); });
    on("act.view.zoomReset", [this] { front()->zoom(0); });
    for (const char* theme : {"System", "Light", "Dark"})
        on(QByteArray("act.view.theme").append(theme).constData(), [this, theme] {
            apply_theme(QString(theme).toLower());
            file_.save(settings_);
        });
    on("act.view.layoutReset", [this] { restoreState(default_state_); });
    on("act.view.fullscreen", [this](bool on) { on ? showFullScreen() : showNormal(); });
    on("act.exp.checkpoints", [this] { show_checkpoints(false); });
    on("act.exp.hf", [this] { show_checkpoints(true); });
    on("act.tools.diag", [this] {
        const Stalls stalls = watchdog_.stalls();
        const QString own = QString("event loop over %1 s: longest stall %2 ms, 99 % below %3 ms\n")
                                .arg(stalls.seconds, 0, 'f', 0)
                                .arg(stalls.longest, 0, 'f', 1)
                                .arg(stalls.p99, 0, 'f', 2);
        help_page(
            "diagnostics", "Diagnostics",
            "<pre>" +
                (diagnostics(engine_, options_.runs_folder, options_.config_folder) + own).toHtmlEscaped() +
                "</pre>",
            this)
            ->show();
    });
    on("act.help.tour", [this] { help_page("tour", "Quick tour", tour_html(), this)->show(); });
    on("act.help.glossary",
       [this] { help_page("glossary", "Metric glossary", glossary_html(), this)->show(); });
    on("act.help.keys", [this] { help_page("keys", "Keyboard map", keys_html(actions_), this)->show(); });
    on("act.help.about", [this] {
        help_page("about", "About Stillroom",
                  about_html(diagnostics(engine_, options_.runs_folder, options_.config_folder)), this)
            ->show();
    });
    on("act.help.copyDiag", [this] {
        QApplication::clipboard()->setText(
            diagnostics(engine_, options_.runs_folder, options_.config_folder));
    });
    on("act.help.licences", [this] { help_page("licences", "Licences", licences_html(), this)->show(); });
}

void MainWindow::connect_run_actions() {
    const auto on = [&](const char* name, auto action) {
        connect(&actions_[name], &QAction::triggered, this, action);
    };
    on("act.run.pause", [this] {
        const auto state = run_->status().state;
        if (state == record::RunState::Paused) {
            run_->send(session::Resume{});
        } else if (state == record::RunState::Pausing) {
            run_->send(session::KeepRunning{});
        } else {
            run_->send(session::Pause{});
        }
    });
    on("act.run.stopStep", [this] { ask_stop(); });
    on("act.run.stopNow", [this] { ask_stop_now(); });
    on("act.run.checkpoint", [this] { run_->send(session::SaveNow{}); });
    on("act.run.evaluate", [this] { run_->send(session::EvaluateNow{}); });
    on("act.run.openFolder", [this] {
        QDesktopServices::openUrl(QUrl::fromLocalFile(QString::fromStdString(run_->folder().string())));
    });
}

LaunchDialog& MainWindow::launch_dialog() {
    if (!launch_) {
        launch_ = new LaunchDialog(engine_, actions_, options_.runs_folder, this);
        connect(launch_, &LaunchDialog::startWanted, this, [this](const session::RunRequest& request) {
            launch_->hide();
            start_run(request);
        });
        connect(launch_, &QDialog::finished, this, &MainWindow::update_actions);
    }
    return *launch_;
}

void MainWindow::copy_command() {
    if (launch_ && launch_->isVisible()) {
        QApplication::clipboard()->setText(launch_->command_line());
        return;
    }
    const auto recipe = run_->folder() / "recipe.toml";
    const auto& summary = run_->status().summary;
    const std::string command =
        "stillroom-cli train " + shell_word(recipe.string()) + " --out " +
        shell_word(session::new_run_folder(run_->folder().parent_path(), summary.name).string()) +
        "  # recipe " + summary.recipe_hash;
    QApplication::clipboard()->setText(QString::fromStdString(command));
    statusBar()->showMessage("The command line was copied.", 3000);
}

void MainWindow::show_checkpoints(bool to_export) {
    auto* dialog = new CheckpointsDialog(engine_, *run_, this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &CheckpointsDialog::resumeWanted, this,
            [this](const QString& run, qint64) { resume_run(run); });
    dialog->show();
    if (to_export) dialog->offer_export();
}

void MainWindow::ask_stop() {
    const QString name = run_->status().name;
    ask(*this, "dlg.stop", "Stop " + name,
        QString("%1 is at step %2 of %3.")
            .arg(name)
            .arg(run_->status().step)
            .arg(run_->status().steps_planned),
        {{"btn.stop.step", "Stop after this step and save", [this] { run_->send(session::StopAfterStep{}); }},
         {"btn.stop.now", "Stop now, save and export",
          [this] {
              export_at_end_ = true;
              run_->send(session::StopNow{});
          }},
         {"btn.stop.keep", "Keep running", [this] { run_->send(session::KeepRunning{}); }}},
        0);
}

void MainWindow::ask_stop_now() {
    ask(*this, "dlg.stopNow", "Stop now and export",
        "The step at hand is given up; the weights of the last finished step are saved and exported.",
        {{"btn.stopNow.stop", "Stop now, save and export",
          [this] {
              export_at_end_ = true;
              run_->send(session::StopNow{});
          }},
         {"btn.stopNow.keep", "Keep running", [] {}}},
        1);
}

void MainWindow::ask_close() {
    const RunStatus& status = run_ ? run_->status() : RunStatus{};
    ask(*this, "dlg.close", "A run is training",
        QString("%1 is training (step %2 of %3).")
            .arg(QString::fromStdString(engine_.run().filename().string()))
            .arg(status.step)
            .arg(status.steps_planned),
        {{"btn.close.keep", "Keep training", [] {}},
         {"btn.close.step", "Stop after this step, save, quit",
          [this] {
              engine_.send(session::StopAfterStep{});
              quitting_ = true;
          }},
         {"btn.close.now", "Stop now, save, quit",
          [this] {
              engine_.send(session::StopNow{});
              quitting_ = true;
          }}},
        0);
}

void MainWindow::export_checkpoint() {
    const std::filesystem::path run = run_->folder(), to = session::new_run_folder(run / "export", "model");
    engine_.job(
        this,
        [run, to](session::Backend& backend) {
            std::error_code ignored;
            std::filesystem::create_directories(to.parent_path(), ignored);
            return backend.export_checkpoint(run, -1, to, "auto");
        },
        [this](Result<session::Exported> exported) {
            say(exported ? QString("Exported step %1 to %2, verified by loading it again.")
                               .arg(exported->step)
                               .arg(QString::fromStdString(exported->folder.string()))
                         : QString::fromStdString(exported.error().message()),
                !exported);
        });
}

void MainWindow::closeEvent(QCloseEvent* event) {
    if (engine_.busy()) {
        event->ignore();
        if (!quitting_) ask_close();
        return;
    }
    save_layout();
    file_.save(settings_);
    event->accept();
}

} // namespace stillroom::ui
