// SPDX-License-Identifier: GPL-3.0-or-later
// A new run: preset, fields, preflight, start.
#pragma once

#include "session/session.h"
#include "ui/launch/drafts.h"
#include "ui/launch/preflight_run.h"
#include "ui/models/recipe_draft.h"
#include "ui/source/engine.h"
#include "ui/window/actions.h"

#include <QDialog>
#include <QTimer>

class QComboBox;
class QLabel;
class QListWidget;
class QMenu;
class QPushButton;
class QStackedWidget;

namespace stillroom::ui {

class LaunchSide;
class PreflightModel;
class PreflightPage;
class RecipePageView;

/// A new run: presets, fields, preflight, forecast. Modeless; closing keeps the draft.
class LaunchDialog : public QDialog {
    Q_OBJECT
public:
    LaunchDialog(Engine& engine, Actions& actions, QString runs_folder, QWidget* parent = nullptr);
    ~LaunchDialog() override;

    /// Starts from this recipe instead of the first preset.
    void set_recipe(const formats::Recipe& recipe);
    /// Reads a recipe file and starts from it; where it can't be read, says why and changes nothing.
    void import_recipe(const QString& file);
    /// The command that runs the fields as they stand; empty where they are not valid.
    QString command_line() const;
    /// Makes the preflight by other means than the engine's.
    void set_preflight(Preflight preflight);

Q_SIGNALS:
    void startWanted(const stillroom::session::RunRequest& request);

protected:
    void done(int result) override;

private:
    // launch_dialog_build.cpp
    QWidget* build_top();
    QWidget* build_middle();
    QWidget* build_bottom();
    void connect_keys(Actions& actions);

    void take_presets(std::vector<formats::Recipe> presets, std::vector<Draft> drafts);
    void begin_from(const formats::Recipe& recipe);
    void choose_preset(int row);
    void list_recipe(const formats::Recipe& recipe);
    const formats::Recipe* preset_named(const std::string& name) const;
    void open_draft(const Draft& draft);
    void keep_draft();
    void fill_drafts();

    void show_page(int page);
    void update_fields();
    void update_checked();
    void update_start();
    /// Why no run can be started now; empty: it can.
    QString not_startable() const;
    void forecast();
    void run_preflight();
    void start();
    void save_recipe();
    void ask_import();
    void say(const QString& text, bool severe = false);
    session::PreflightRequest request() const;
    std::filesystem::path new_folder() const;

    Engine& engine_;
    QString runs_folder_;
    RecipeDraft draft_;
    std::vector<formats::Recipe> presets_; // as listed: shipped ones, then own files
    size_t shipped_ = 0;
    std::vector<Draft> drafts_;
    std::optional<formats::Recipe> waiting_; // set_recipe before the presets were read
    bool ready_ = false;                     // they were read

    Preflight preflight_;
    bool scripted_ = false; // preflight_ is not the engine's
    PreflightModel* findings_;
    PreflightRun preflight_run_;
    std::string checked_hash_; // of the recipe that the findings are about
    QTimer forecast_timer_;
    std::thread forecaster_;
    bool forecasting_ = false, forecast_again_ = false;

    QComboBox *preset_, *device_;
    QLabel *reported_, *message_, *start_note_;
    QListWidget* pages_;
    QStackedWidget* stack_;
    std::vector<RecipePageView*> views_;
    PreflightPage* preflight_page_;
    LaunchSide* side_;
    QPushButton *start_, *copy_, *save_, *preflight_button_, *drafts_button_;
    QMenu* drafts_menu_;
};

} // namespace stillroom::ui
