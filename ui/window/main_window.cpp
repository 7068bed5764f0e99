// SPDX-License-Identifier: GPL-3.0-or-later
// Building the window, its pages and its layout.
#include "ui/window/main_window.h"

#include "ui/docks/alarms_dock.h"
#include "ui/docks/facts_dock.h"
#include "ui/docks/log_dock.h"
#include "ui/docks/runs_dock.h"
#include "ui/docks/timeline_dock.h"
#include "ui/launch/launch_dialog.h"
#include "ui/rollouts/rollouts_view.h"
#include "ui/run/run_view.h"
#include "ui/window/run_bar.h"
#include "ui/window/start_page.h"
#include "ui/window/theme.h"

#include <QApplication>
#include <QCloseEvent>
#include <QDockWidget>
#include <QGuiApplication>
#include <QLocale>
#include <QScreen>
#include <QTimer>
#include <QVBoxLayout>

namespace stillroom::ui {

namespace {

constexpr int narrow = 1400; // window widths below this hide the docks while rollouts are read

QDockWidget* dock_of(const QWidget* content) { return qobject_cast<QDockWidget*>(content->parentWidget()); }

} // namespace

MainWindow::MainWindow(Engine& engine, Options options, QWidget* parent)
    : QMainWindow(parent), engine_(engine), options_(std::move(options)), file_(options_.config_folder),
      runs_(options_.runs_folder), actions_(this, menuBar()), banner_(new Banner), hints_(new HintLine),
      tabs_(new QTabBar), views_(new QStackedWidget), pages_(new QStackedWidget), start_(new StartPage),
      bar_(new RunBar(actions_, this)), fields_(new StatusFields(*statusBar(), this)) {
    setObjectName("win.main");
    setWindowTitle("Stillroom");
    resize(1280, 800);
    QString fault;
    if (!options_.safe_mode) settings_ = file_.load(&fault);
    addToolBar(bar_);
    build_views();
    build_docks();
    default_state_ = saveState();
    connect_actions();
    connect_run_actions();
    apply_theme(settings_.theme);
    fill_recent();
    show_view(0);
    show_page();
    if (!fault.isEmpty()) say(fault);

    connect(&engine_, &Engine::loaded, this, [this] {
        update_status();
        update_actions();
        look_for_interrupted();
    });
    connect(&engine_, &Engine::failed, this, [this](const QString& why) {
        update_status();
        update_actions();
        say("The engine could not be loaded; recorded runs can be viewed. " + why, true);
    });
    connect(&engine_, &Engine::ended, this, [this](const QString& run) {
        runs_.refresh();
        update_actions();
        if (std::exchange(export_at_end_, false) && run_ && run_->folder().string() == run.toStdString())
            export_checkpoint();
        if (quitting_) close();
    });
    connect(&runs_, &RunsModel::changed, this, &MainWindow::look_for_interrupted);
    connect(&cursor_, &StepCursor::stepChanged, this,
            [this] { fields_->show_status(run_.get(), engine_, cursor_.step()); });
    auto* timer = new QTimer(this); // runs of other processes, and what the clock decides
    timer->setInterval(10'000);
    connect(timer, &QTimer::timeout, &runs_, &RunsModel::refresh);
    timer->start();
    runs_.refresh();
    update_status();
    update_actions();
}

MainWindow::~MainWindow() { set_run(nullptr); }

void MainWindow::build_views() {
    const ViewContext context{actions_, cursor_};
    auto* run_view = new RunView(context);
    auto* rollouts_view = new RolloutsView(context);
    actions_.bind_to_view("act.chart.", run_view);
    actions_.bind_to_view("act.exp.", run_view);
    actions_.bind_to_view("act.roll.", rollouts_view);
    for (View* view : std::initializer_list<View*>{run_view, rollouts_view}) {
        views_->addWidget(view);
        connect(view, &View::rolloutsWanted, this, [this] { show_view(1); });
        connect(view, &View::said, this, &MainWindow::say);
    }
    tabs_->setObjectName("tabs.views");
    tabs_->setAccessibleName("Views");
    tabs_->setExpanding(false);
    tabs_->setDrawBase(false);
    for (const char* name : {"Run", "Rollouts"}) tabs_->addTab(name);
    connect(tabs_, &QTabBar::currentChanged, this, &MainWindow::show_view);

    auto* with_tabs = new QWidget;
    auto* inner = new QVBoxLayout(with_tabs);
    inner->setContentsMargins(0, 0, 0, 0);
    inner->setSpacing(0);
    inner->addWidget(tabs_);
    inner->addWidget(views_, 1);
    pages_->addWidget(start_);
    pages_->addWidget(with_tabs);
    auto* centre = new QWidget;
    auto* layout = new QVBoxLayout(centre);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(banner_);
    layout->addWidget(hints_);
    layout->addWidget(pages_, 1);
    setCentralWidget(centre);

    connect(hints_, &HintLine::hideWanted, this, [this] {
        settings_.hints = false;
        file_.save(settings_);
        update_status();
    });
    connect(start_, &StartPage::sampleWanted, this, [this] { start_shipped("sample-opd"); });
    connect(start_, &StartPage::selfSampleWanted, this, [this] { start_shipped("sample-opsd"); });
    connect(start_, &StartPage::newRunWanted, this, [this] { actions_["act.file.new"].trigger(); });
    connect(start_, &StartPage::openWanted, this, [this] { actions_["act.file.open"].trigger(); });
    connect(start_, &StartPage::resumeWanted, this, &MainWindow::resume_run);
    connect(start_, &StartPage::viewWanted, this, &MainWindow::open_run);
}

void MainWindow::build_docks() {
    runs_dock_ = new RunsDock(runs_);
    alarms_dock_ = new AlarmsDock;
    facts_dock_ = new FactsDock;
    timeline_dock_ = new TimelineDock(cursor_);
    log_dock_ = new LogDock(cursor_);
    const auto add = [&](const char* name, const char* title, QWidget* content, Qt::DockWidgetArea area,
                         const char* action) {
        auto* dock = new QDockWidget(title, this);
        dock->setObjectName(name);
        dock->setWidget(content);
        addDockWidget(area, dock);
        QAction& toggle = actions_[action];
        connect(&toggle, &QAction::triggered, dock, [dock](bool on) {
            dock->setVisible(on);
            if (on) dock->raise();
        });
        connect(dock->toggleViewAction(), &QAction::toggled, &toggle, &QAction::setChecked);
        return dock;
    };
    setCorner(Qt::BottomLeftCorner, Qt::LeftDockWidgetArea);
    setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
    auto* runs = add("dock.runs", "Runs", runs_dock_, Qt::LeftDockWidgetArea, "act.view.runs");
    auto* alarms = add("dock.alarms", "Alarms", alarms_dock_, Qt::RightDockWidgetArea, "act.view.alarms");
    auto* facts = add("dock.facts", "Run Facts", facts_dock_, Qt::RightDockWidgetArea, "act.view.facts");
    auto* timeline =
        add("dock.timeline", "Timeline", timeline_dock_, Qt::BottomDockWidgetArea, "act.view.timeline");
    auto* log = add("dock.log", "Log", log_dock_, Qt::BottomDockWidgetArea, "act.view.log");
    tabifyDockWidget(timeline, log);
    timeline->raise();
    resizeDocks({runs, alarms}, {220, 240}, Qt::Horizontal);
    resizeDocks({alarms, facts}, {200, 320}, Qt::Vertical);
    resizeDocks({timeline}, {132}, Qt::Vertical);
    for (const char* name :
         {"act.view.runs", "act.view.alarms", "act.view.facts", "act.view.timeline", "act.view.log"})
        actions_[name].setChecked(true);

    connect(runs_dock_, &RunsDock::opened, this, &MainWindow::open_run);
    connect(runs_dock_, &RunsDock::selectionChanged, this, &MainWindow::update_actions);
    connect(alarms_dock_, &AlarmsDock::shown, this, [this](qint64 first, qint64 last) {
        cursor_.set_step(last);
        cursor_.select(StepCursor::Range{first, last});
        show_view(1);
    });
    connect(fields_, &StatusFields::pressed, this, [this](const QString& field) {
        const char* dock = field == "alarms" ? "act.view.alarms"
                           : field == "step" || field == "cursor" || field == "speed" || field == "end"
                               ? "act.view.timeline"
                           : field == "recording" || field == "state" ? "act.view.log"
                                                                      : "act.view.facts";
        if (!actions_[dock].isChecked()) actions_[dock].trigger();
        if (auto* widget = findChild<QDockWidget*>(QString("dock.") + QString(dock).section('.', 2)))
            widget->raise();
    });
}

void MainWindow::show_view(int index) {
    tabs_->setCurrentIndex(index);
    views_->setCurrentIndex(index);
    actions_[index == 0 ? "act.view.run" : "act.view.rollouts"].setChecked(true);
    // The inspector needs the width of a small screen for itself; the docks' keys bring them back.
    if (run_ && width() < narrow) {
        const bool wide = index == 0;
        for (QWidget* content : {static_cast<QWidget*>(runs_dock_), static_cast<QWidget*>(alarms_dock_),
                                 static_cast<QWidget*>(facts_dock_), static_cast<QWidget*>(timeline_dock_),
                                 static_cast<QWidget*>(log_dock_)}) {
            QDockWidget* dock = dock_of(content);
            if (!wide) {
                dock->setProperty("hiddenForRollouts", dock->toggleViewAction()->isChecked());
                dock->hide();
            } else if (dock->property("hiddenForRollouts").toBool()) {
                dock->setProperty("hiddenForRollouts", false);
                dock->show();
            }
        }
        if (wide) dock_of(timeline_dock_)->raise();
    }
    views_->currentWidget()->setFocus();
}

View* MainWindow::front() const { return static_cast<View*>(views_->currentWidget()); }

void MainWindow::show_page() {
    pages_->setCurrentIndex(run_ ? 1 : 0);
    if (!run_) start_->setFocus();
}

void MainWindow::say(const QString& text, bool severe) { banner_->show_text(text, severe); }

void MainWindow::apply_theme(const QString& name) {
    settings_.theme = name;
    const Theme theme = theme_of(name);
    ui::apply(theme);
    actions_[theme == Theme::Light  ? "act.view.themeLight"
             : theme == Theme::Dark ? "act.view.themeDark"
                                    : "act.view.themeSystem"]
        .setChecked(true);
}

void MainWindow::changeEvent(QEvent* event) {
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::ApplicationPaletteChange) {
        bar_->paint_icons(actions_);
        update_status();
    }
    QMainWindow::changeEvent(event);
}

void MainWindow::showEvent(QShowEvent* event) {
    QMainWindow::showEvent(event);
    if (!std::exchange(restored_, true)) QTimer::singleShot(0, this, &MainWindow::restore_layout);
}

void MainWindow::restore_layout() {
    if (options_.reset_layout) file_.forget_layout();
    if (options_.safe_mode || options_.reset_layout) return;
    QString fault;
    const auto [geometry, state] = file_.load_layout(&fault);
    if (!fault.isEmpty()) {
        file_.end_restore();
        say(fault);
    }
    if (state.isEmpty()) return;
    file_.begin_restore();
    restoreGeometry(geometry);
    restoreState(state);
    file_.end_restore();
    const QRect screen = QGuiApplication::primaryScreen()->availableGeometry();
    const QRect seen = frameGeometry().intersected(screen);
    if (seen.width() < 100 || seen.height() < 100) move(screen.center() - rect().center());
}

void MainWindow::save_layout() {
    if (options_.safe_mode || isFullScreen() || isMinimized()) return;
    if (views_->currentIndex() != 0) show_view(0); // the docks as they are beside the charts
    file_.save_layout(saveGeometry(), saveState());
}

} // namespace stillroom::ui
