// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/launch/launch_dialog.h"

#include "base/files.h"
#include "base/strings.h"
#include "ui/launch/launch_side.h"
#include "ui/launch/preflight_page.h"
#include "ui/launch/presets.h"
#include "ui/launch/recipe_page_view.h"
#include "ui/window/ask.h"
#include "ui/window/theme.h"

#include <QComboBox>
#include <QListWidget>
#include <QMenu>
#include <QPointer>
#include <QPushButton>
#include <QStackedWidget>
#include <QThreadPool>
#include <QVBoxLayout>

namespace stillroom::ui {

namespace {

bool is_same(const formats::Recipe& a, const formats::Recipe& b) {
    return a.file == b.file && formats::flattened(a) == formats::flattened(b);
}

} // namespace

LaunchDialog::LaunchDialog(Engine& engine, Actions& actions, QString runs_folder, QWidget* parent)
    : QDialog(parent), engine_(engine), runs_folder_(std::move(runs_folder)),
      draft_(runs_folder_.toStdString()), findings_(new PreflightModel(this)) {
    setObjectName("dlg.launch");
    setWindowTitle("New run");
    setMinimumSize(960, 640);
    resize(1100, 700);
    preflight_ = [&engine](const session::PreflightRequest& request,
                           const std::function<bool(const session::Finding&)>& each) {
        return engine.backend().preflight(request, each);
    };
    message_ = new QLabel;
    message_->setObjectName("lbl.launch.message");
    message_->setWordWrap(true);
    message_->setTextFormat(Qt::PlainText);
    message_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    message_->hide();
    auto* layout = new QVBoxLayout(this);
    layout->addWidget(build_top());
    layout->addWidget(message_);
    layout->addWidget(build_middle(), 1);
    layout->addWidget(build_bottom());
    connect_keys(actions);

    connect(&draft_, &RecipeDraft::loaded, this, &LaunchDialog::update_fields);
    connect(&draft_, &RecipeDraft::changed, this, &LaunchDialog::update_fields);
    connect(&draft_, &RecipeDraft::checked, this, &LaunchDialog::update_checked);
    connect(preflight_page_, &PreflightPage::runWanted, this, &LaunchDialog::run_preflight);
    connect(preflight_page_, &PreflightPage::cancelWanted, &preflight_run_, &PreflightRun::cancel);
    connect(preflight_page_, &PreflightPage::overridden, this, &LaunchDialog::update_start);
    connect(
        preflight_page_, &PreflightPage::fixWanted, this, [this](const QString& key, const QString& value) {
            const auto set = draft_.set(key.toStdString(), value.toStdString());
            say(set ? key + " is now " + value + "." : QString::fromStdString(set.error().message()), !set);
        });
    connect(&preflight_run_, &PreflightRun::found, this, [this](const session::Finding& finding) {
        findings_->add(finding);
        preflight_page_->update_findings();
        if (finding.step_seconds > 0) side_->show_time(draft_.recipe(), finding.step_seconds);
    });
    connect(&preflight_run_, &PreflightRun::done, this, [this](const QString& fault) {
        preflight_page_->set_running(false);
        preflight_page_->update_findings();
        if (!fault.isEmpty()) say(fault, true);
        update_checked();
    });
    connect(&engine, &Engine::loaded, this, &LaunchDialog::update_checked);
    connect(&engine, &Engine::failed, this, &LaunchDialog::update_start);
    connect(&engine, &Engine::started, this, &LaunchDialog::update_start);
    connect(&engine, &Engine::ended, this, &LaunchDialog::update_start);
    forecast_timer_.setSingleShot(true);
    forecast_timer_.setInterval(300);
    connect(&forecast_timer_, &QTimer::timeout, this, &LaunchDialog::forecast);

    show_page(0);
    update_start();
    QThreadPool::globalInstance()->start(
        [self = QPointer<LaunchDialog>(this), file = runs_folder_ + "/drafts.json"] {
            auto presets = read_presets();
            auto drafts = read_drafts(file);
            QMetaObject::invokeMethod(qApp, [self, presets = std::move(presets), drafts = std::move(drafts)] {
                if (self) self->take_presets(presets, drafts);
            });
        });
}

LaunchDialog::~LaunchDialog() {
    if (forecaster_.joinable()) forecaster_.join();
}

void LaunchDialog::set_preflight(Preflight preflight) {
    preflight_ = std::move(preflight);
    scripted_ = true;
    update_start();
}

void LaunchDialog::take_presets(std::vector<formats::Recipe> presets, std::vector<Draft> drafts) {
    presets_ = std::move(presets);
    shipped_ = presets_.size();
    drafts_ = std::move(drafts);
    ready_ = true;
    for (const auto& preset : presets_) {
        preset_->addItem(QString::fromStdString(preset.file.stem().string()));
        preset_->setItemData(preset_->count() - 1, one_line(preset), Qt::ToolTipRole);
    }
    fill_drafts();
    if (waiting_) {
        begin_from(*std::exchange(waiting_, std::nullopt));
    } else if (!presets_.empty()) {
        begin_from(presets_.front());
    } else {
        say("No shipped recipe was found in " + QString::fromStdString(formats::resources_folder().string()) +
                ".",
            true);
    }
}

const formats::Recipe* LaunchDialog::preset_named(const std::string& name) const {
    for (size_t i = 0; i < shipped_; ++i)
        if (presets_[i].file.stem() == name) return &presets_[i];
    return nullptr;
}

void LaunchDialog::set_recipe(const formats::Recipe& recipe) {
    if (ready_) {
        keep_draft();
        begin_from(recipe);
    } else {
        waiting_ = recipe;
    }
}

void LaunchDialog::list_recipe(const formats::Recipe& recipe) {
    for (size_t i = 0; i < presets_.size(); ++i)
        if (is_same(presets_[i], recipe)) return preset_->setCurrentIndex(int(i));
    presets_.push_back(recipe);
    const auto& file = recipe.file;
    preset_->addItem(QString::fromStdString(recipe.run.name +
                                            (file.empty() ? "" : " (" + file.filename().string() + ")")));
    preset_->setItemData(preset_->count() - 1, QString::fromStdString(file.string()), Qt::ToolTipRole);
    preset_->setCurrentIndex(preset_->count() - 1);
}

void LaunchDialog::begin_from(const formats::Recipe& recipe) {
    list_recipe(recipe);
    const formats::Recipe* preset = preset_named(recipe.preset);
    findings_->clear({});
    checked_hash_.clear();
    side_->show_time(recipe, 0);
    preflight_page_->set_notice({});
    preflight_page_->set_running(preflight_run_.running());
    say({});
    draft_.load(recipe, preset ? *preset : recipe);
    const auto& provenance = recipe.provenance;
    QString text = one_line(recipe);
    if (!provenance.reported.empty()) text += "\nreported: " + QString::fromStdString(provenance.reported);
    if (!provenance.warning.empty()) text += "\n! " + QString::fromStdString(provenance.warning);
    reported_->setText(text);
    preflight_page_->update_findings();
}

void LaunchDialog::choose_preset(int row) {
    keep_draft();
    begin_from(formats::Recipe(presets_[size_t(row)]));
}

void LaunchDialog::show_page(int page) {
    stack_->setCurrentIndex(page);
    pages_->setCurrentRow(page);
    side_->setVisible(stack_->currentWidget() != preflight_page_);
}

void LaunchDialog::update_fields() {
    for (RecipePageView* view : views_) view->show_texts();
    update_start(); // until it has been checked
}

void LaunchDialog::update_checked() {
    for (RecipePageView* view : views_) view->show_notes();
    side_->update_draft();
    for (int page = 0; page < int(views_.size()); ++page) {
        const PageState state = draft_.page_state(page);
        const bool good = state == PageState::Good;
        const Role role = good ? Role::Go : state == PageState::Warned ? Role::Wait : Role::Stop;
        QListWidgetItem* item = pages_->item(page);
        item->setIcon(icon(good                         ? "tick"
                           : state == PageState::Warned ? "warning"
                                                        : "cross",
                           colour(role, palette())));
        item->setToolTip(good                         ? "Nothing to be said"
                         : state == PageState::Warned ? "Something to know"
                                                      : "Something is wrong");
    }
    if (!checked_hash_.empty()) {
        const bool same = checked_hash_ == formats::recipe_hash(draft_.recipe());
        preflight_page_->set_notice(same ? QString() : QString("Fields were changed since: run it again."));
        if (!same) side_->show_time(draft_.recipe(), 0);
    }
    copy_->setEnabled(draft_.valid());
    save_->setEnabled(ready_);
    forecast_timer_.start();
    update_start();
}

QString LaunchDialog::not_startable() const {
    if (!ready_) return "The presets are being read.";
    if (engine_.busy())
        return QString::fromStdString(engine_.run().filename().string()) +
               " trains here. The command line can be copied.";
    if (engine_.state() == Engine::State::Failed) return "The engine could not be loaded.";
    if (engine_.state() == Engine::State::Loading) return "The engine is being loaded.";
    for (int page = 0; page < int(views_.size()); ++page)
        if (draft_.page_state(page) == PageState::Wrong) return QString("Page %1 has a fault.").arg(page + 1);
    if (!draft_.valid()) return "A field has a fault.";
    if (preflight_run_.running()) return "The preflight is going on.";
    const QStringList blocking = findings_->blocking();
    if (!blocking.isEmpty())
        return blocking.front() + " failed" + (blocking.size() > 1 ? ", and others." : ".");
    return {};
}

void LaunchDialog::update_start() {
    const QString why = not_startable();
    start_->setEnabled(why.isEmpty());
    start_note_->setText(why.isEmpty() ? QString() : "Start is off: " + why);
    preflight_button_->setEnabled(ready_ && !preflight_run_.running());
    const bool failed = findings_->count(session::Verdict::Fail) > 0,
               warned = findings_->count(session::Verdict::Warn) > 0,
               made = findings_->count(session::Verdict::Pass) > 0 || failed || warned;
    QListWidgetItem* item = pages_->item(stack_->count() - 1);
    item->setIcon(!made    ? icon("lens", palette().color(QPalette::Text))
                  : failed ? icon("cross", colour(Role::Stop, palette()))
                  : warned ? icon("warning", colour(Role::Wait, palette()))
                           : icon("tick", colour(Role::Go, palette())));
    item->setToolTip(findings_->summary());
}

session::PreflightRequest LaunchDialog::request() const {
    session::PreflightRequest request;
    request.recipe = draft_.recipe();
    request.run = new_folder();
    request.device = device_->currentText().toStdString();
    return request;
}

std::filesystem::path LaunchDialog::new_folder() const {
    return session::new_run_folder(runs_folder_.toStdString(), draft_.recipe().run.name);
}

void LaunchDialog::forecast() {
    if (engine_.state() != Engine::State::Ready || !ready_) return;
    if (forecasting_) {
        forecast_again_ = true;
        return;
    }
    if (!draft_.valid()) return side_->show_no_forecast("unknown while a field has a fault");
    forecasting_ = true;
    if (forecaster_.joinable()) forecaster_.join();
    forecaster_ = std::thread([this, asked = request()] {
        auto result = engine_.backend().memory_forecast(asked);
        QMetaObject::invokeMethod(this, [this, asked, result = std::move(result)] {
            forecasting_ = false;
            if (result) {
                side_->show_forecast(asked.recipe, *result);
            } else {
                side_->show_no_forecast(QString::fromStdString(result.error().message()));
            }
            if (std::exchange(forecast_again_, false)) forecast();
        });
    });
}

void LaunchDialog::run_preflight() {
    draft_.check();
    show_page(stack_->count() - 1);
    if (preflight_run_.running()) return;
    if (!scripted_ && engine_.state() != Engine::State::Ready)
        return say("The preflight needs the engine, which isn't ready.", true);
    if (!draft_.valid()) return say(not_startable(), true);
    say({});
    if (scripted_) {
        findings_->clear({});
    } else {
        findings_->clear(engine_.backend().preflight_checks());
    }
    checked_hash_ = formats::recipe_hash(draft_.recipe());
    preflight_run_.start(preflight_, request());
    preflight_page_->set_running(true);
    preflight_page_->set_notice({});
    preflight_page_->update_findings();
    preflight_page_->focus_table();
    update_start();
}

void LaunchDialog::start() {
    draft_.check();
    if (!not_startable().isEmpty()) return update_start();
    session::RunRequest wanted;
    wanted.recipe = draft_.recipe();
    for (const auto& [id, reason] : findings_->overridden())
        wanted.recipe.provenance.assumed.push_back("started although " + id +
                                                   " failed: " + reason.toStdString());
    wanted.run = new_folder();
    wanted.device = device_->currentText().toStdString();
    Q_EMIT startWanted(wanted);
}

QString LaunchDialog::command_line() const {
    if (!ready_ || !draft_.valid()) return {};
    std::string command = "stillroom-cli train " + shell_word(draft_.origin());
    for (const std::string& setting : draft_.settings()) command += " --set " + shell_word(setting);
    if (device_->currentIndex() > 0) command += " --device " + device_->currentText().toStdString();
    command += " --out " + shell_word(new_folder().string());
    return QString::fromStdString(command + "  # recipe " + formats::recipe_hash(draft_.recipe()));
}

void LaunchDialog::save_recipe() {
    if (!draft_.valid()) return say("A recipe is saved when no field has a fault. " + not_startable(), true);
    const QString name = QString::fromStdString(draft_.recipe().run.name) + ".toml";
    ask_path(*this, {"dlg.launch.save", "Save recipe", Pick::NewFile, "toml", name},
             [this](const QString& file) {
                 const auto text = formats::to_toml(formats::with_absolute_paths(draft_.recipe()));
                 const auto written = write_file(file.toStdString(), text);
                 say(written ? "Saved to " + file + "." : QString::fromStdString(written.error().message()),
                     !written);
             });
}

void LaunchDialog::ask_import() {
    ask_path(*this, {"dlg.launch.import", "Import recipe", Pick::File, "toml", {}},
             [this](const QString& file) { import_recipe(file); });
}

void LaunchDialog::import_recipe(const QString& file) {
    QThreadPool::globalInstance()->start([self = QPointer<LaunchDialog>(this), file] {
        auto recipe = formats::read_recipe(file.toStdString());
        QMetaObject::invokeMethod(qApp, [self, recipe = std::move(recipe)] {
            if (!self) return;
            if (recipe) return self->set_recipe(*recipe);
            self->say(QString::fromStdString(recipe.error().message()) + ". Nothing was changed.", true);
        });
    });
}

void LaunchDialog::keep_draft() {
    if (draft_.settings().empty() || !ready_) return;
    ui::keep_draft(drafts_, {QDateTime::currentDateTime(), draft_.recipe().file.string(), draft_.texts()});
    fill_drafts();
    QThreadPool::globalInstance()->start([drafts = drafts_, file = runs_folder_ + "/drafts.json"] {
        (void)write_drafts(file, drafts); // a draft that can't be kept is still in the list
    });
}

void LaunchDialog::fill_drafts() {
    drafts_menu_->clear();
    for (size_t i = 0; i < drafts_.size(); ++i) {
        QAction* action = drafts_menu_->addAction(drafts_[i].title());
        action->setObjectName("act.launch.draft." + QString::number(i + 1));
        connect(action, &QAction::triggered, this, [this, draft = drafts_[i]] { open_draft(draft); });
    }
    drafts_button_->setEnabled(!drafts_.empty());
}

void LaunchDialog::open_draft(const Draft& draft) {
    QThreadPool::globalInstance()->start([self = QPointer<LaunchDialog>(this), draft] {
        auto recipe = formats::read_recipe(draft.file);
        QMetaObject::invokeMethod(qApp, [self, draft, recipe = std::move(recipe)] {
            if (!self) return;
            if (!recipe) return self->say(QString::fromStdString(recipe.error().message()), true);
            self->set_recipe(*recipe);
            self->draft_.set_texts(draft.texts);
        });
    });
}

void LaunchDialog::say(const QString& text, bool severe) {
    message_->setText(text);
    message_->setStyleSheet("color: " + colour(severe ? Role::Stop : Role::Info, palette()).name());
    message_->setVisible(!text.isEmpty());
}

void LaunchDialog::done(int result) {
    keep_draft();
    QDialog::done(result);
}

} // namespace stillroom::ui
