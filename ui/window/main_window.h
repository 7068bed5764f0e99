// SPDX-License-Identifier: GPL-3.0-or-later
// The window: menus, toolbar, docks, status bar, the views, and which run they show.
#pragma once

#include "ui/models/runs_model.h"
#include "ui/models/step_cursor.h"
#include "ui/source/engine.h"
#include "ui/source/run_source.h"
#include "ui/window/actions.h"
#include "ui/window/hints.h"
#include "ui/window/settings.h"
#include "ui/window/watchdog.h"

#include <QMainWindow>
#include <QPointer>
#include <QStackedWidget>
#include <QTabBar>

namespace stillroom::ui {

class AlarmsDock;
class Banner;
class FactsDock;
class LaunchDialog;
class LogDock;
class RunBar;
class RunsDock;
class StartPage;
class StatusFields;
class TimelineDock;
class View;

class MainWindow : public QMainWindow {
    Q_OBJECT
public:
    struct Options {
        QString runs_folder, config_folder;
        bool safe_mode = false; // defaults, nothing restored
        bool reset_layout = false;
    };
    /// The engine may still be loading.
    MainWindow(Engine& engine, Options options, QWidget* parent = nullptr);
    ~MainWindow() override;

    /// Shows a run of any folder; one that this process trains is shown live.
    void open_run(const QString& folder);
    void start_run(session::RunRequest request);
    void start_shipped(const QString& recipe);
    void resume_run(const QString& folder);

    Actions& actions() { return actions_; }
    StepCursor& cursor() { return cursor_; }
    RunSource* run() const { return run_.get(); }
    Watchdog& watchdog() { return watchdog_; }

protected:
    void showEvent(QShowEvent* event) override;
    void closeEvent(QCloseEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void build_views();
    void build_docks();
    void connect_actions();
    void connect_run_actions();
    void show_view(int index);
    View* front() const;
    void show_page(); // the start page or the views

    void close_run();
    void set_run(std::unique_ptr<RunSource> run);
    void update_status();
    void update_actions();
    void remember(const QString& run);
    void fill_recent();
    void look_for_interrupted();
    void ask_stop();
    void ask_stop_now();
    void ask_close();
    void export_checkpoint();
    void show_checkpoints(bool to_export);
    LaunchDialog& launch_dialog();
    void copy_command();
    void say(const QString& text, bool severe = false);
    void apply_theme(const QString& name);
    void restore_layout();
    void save_layout();

    Engine& engine_;
    Options options_;
    SettingsFile file_;
    Settings settings_;
    StepCursor cursor_;
    RunsModel runs_;
    Actions actions_;
    std::unique_ptr<RunSource> run_;
    Watchdog watchdog_;

    Banner* banner_;
    HintLine* hints_;
    QTabBar* tabs_;
    QStackedWidget* views_; // RunView, RolloutsView
    QStackedWidget* pages_; // StartPage, the views
    StartPage* start_;
    RunBar* bar_;
    StatusFields* fields_;
    RunsDock* runs_dock_;
    AlarmsDock* alarms_dock_;
    FactsDock* facts_dock_;
    TimelineDock* timeline_dock_;
    LogDock* log_dock_;
    QByteArray default_state_;
    QPointer<LaunchDialog> launch_;
    bool restored_ = false, quitting_ = false, export_at_end_ = false;
};

} // namespace stillroom::ui
