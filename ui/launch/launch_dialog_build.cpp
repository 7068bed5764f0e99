// SPDX-License-Identifier: GPL-3.0-or-later
// How the launch dialog is laid out.
#include "ui/launch/launch_dialog.h"
#include "ui/launch/launch_side.h"
#include "ui/launch/preflight_page.h"
#include "ui/launch/recipe_page_view.h"

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QHBoxLayout>
#include <QListWidget>
#include <QMenu>
#include <QPushButton>
#include <QShortcut>
#include <QStackedWidget>
#include <QVBoxLayout>

namespace stillroom::ui {

namespace {

QPushButton* button(const QString& text, const char* name, const QString& tip) {
    auto* made = new QPushButton(text);
    made->setObjectName(name);
    made->setAutoDefault(false); // Return belongs to the fields
    made->setToolTip(tip);
    return made;
}

QFrame* line(QFrame::Shape shape) {
    auto* made = new QFrame;
    made->setFrameShape(shape);
    made->setFrameShadow(QFrame::Sunken);
    return made;
}

} // namespace

QWidget* LaunchDialog::build_top() {
    auto* label = new QLabel("&Preset");
    preset_ = new QComboBox;
    preset_->setObjectName("fld.launch.preset");
    preset_->setAccessibleName("Preset");
    preset_->setMinimumWidth(230);
    preset_->setFocusPolicy(Qt::StrongFocus);
    label->setBuddy(preset_);
    reported_ = new QLabel("Reading the presets…");
    reported_->setObjectName("lbl.launch.reported");
    reported_->setWordWrap(true);
    reported_->setTextFormat(Qt::PlainText);
    reported_->setMinimumHeight(2 * reported_->fontMetrics().lineSpacing());
    auto* provenance = button("Pro&venance", "btn.launch.provenance", "Where the recipe's values come from");
    auto* reset = button("&Reset", "btn.launch.reset", "Every field as the preset has it");
    drafts_button_ = button("&Drafts", "btn.launch.drafts", "What was edited here before, newest first");
    drafts_menu_ = new QMenu(drafts_button_);
    drafts_menu_->setObjectName("menu.launch.drafts");
    drafts_button_->setMenu(drafts_menu_);
    auto* import = button("&Import…", "btn.launch.import", "Starts from a recipe file");

    auto* top = new QWidget;
    auto* row = new QHBoxLayout(top);
    row->setContentsMargins(0, 0, 0, 0);
    row->addWidget(label);
    row->addWidget(preset_);
    row->addWidget(reported_, 1);
    for (QWidget* each : {provenance, reset, drafts_button_, import}) row->addWidget(each);
    connect(preset_, &QComboBox::activated, this, &LaunchDialog::choose_preset);
    connect(provenance, &QPushButton::clicked, this, [this] {
        show_page(0);
        views_.front()->focus("provenance.source");
    });
    connect(reset, &QPushButton::clicked, this, [this] {
        keep_draft();
        begin_from(draft_.preset());
    });
    connect(import, &QPushButton::clicked, this, &LaunchDialog::ask_import);
    return top;
}

QWidget* LaunchDialog::build_middle() {
    pages_ = new QListWidget;
    pages_->setObjectName("list.launch.pages");
    pages_->setAccessibleName("Pages");
    pages_->setFixedWidth(168);
    pages_->setIconSize({16, 16});
    stack_ = new QStackedWidget;
    for (size_t page = 0; page < recipe_pages().size(); ++page) {
        views_.push_back(new RecipePageView(draft_, int(page), stack_));
        stack_->addWidget(views_.back());
        pages_->addItem(QString("%1  %2").arg(page + 1).arg(QString::fromUtf8(recipe_pages()[page].title)));
    }
    preflight_page_ = new PreflightPage(*findings_, stack_);
    stack_->addWidget(preflight_page_);
    pages_->addItem("Preflight");
    side_ = new LaunchSide(draft_);
    connect(pages_, &QListWidget::currentRowChanged, this, &LaunchDialog::show_page);

    auto* middle = new QWidget;
    auto* row = new QHBoxLayout(middle);
    row->setContentsMargins(0, 0, 0, 0);
    row->addWidget(pages_);
    row->addWidget(stack_, 1);
    row->addWidget(line(QFrame::VLine));
    row->addWidget(side_);
    return middle;
}

QWidget* LaunchDialog::build_bottom() {
    device_ = new QComboBox;
    device_->setObjectName("fld.launch.device");
    device_->setAccessibleName("Device");
    device_->setFocusPolicy(Qt::StrongFocus);
    device_->addItems({"auto", "cuda", "cpu"});
    auto* device_label = new QLabel("De&vice");
    device_label->setBuddy(device_);
    save_ = button("&Save recipe…", "btn.launch.save", "Writes every field to a file (Ctrl+S)");
    copy_ = button("Copy as command &line", "btn.launch.copyCommand",
                   "The command that makes this run without a window (Ctrl+Shift+L)");
    preflight_button_ = button("Pre&flight", "btn.launch.preflight", "Looks for what would go wrong (F6)");
    start_ = button("S&tart", "btn.launch.start", "Starts the run (Ctrl+Return)");
    start_note_ = new QLabel;
    start_note_->setObjectName("lbl.launch.start");
    start_note_->setWordWrap(true);
    start_note_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);

    auto* bottom = new QWidget;
    auto* row = new QHBoxLayout(bottom);
    row->setContentsMargins(0, 0, 0, 0);
    row->addWidget(device_label);
    for (QWidget* each : std::initializer_list<QWidget*>{device_, save_, copy_}) row->addWidget(each);
    row->addWidget(start_note_, 1);
    row->addWidget(preflight_button_);
    row->addWidget(start_);
    connect(save_, &QPushButton::clicked, this, &LaunchDialog::save_recipe);
    connect(copy_, &QPushButton::clicked, this, [this] {
        QApplication::clipboard()->setText(command_line());
        say("The command line was copied.");
    });
    connect(preflight_button_, &QPushButton::clicked, this, &LaunchDialog::run_preflight);
    connect(start_, &QPushButton::clicked, this, &LaunchDialog::start);
    connect(device_, &QComboBox::currentIndexChanged, this, &LaunchDialog::update_checked);
    return bottom;
}

void LaunchDialog::connect_keys(Actions& actions) {
    // These two have their keys from the table of actions; here they work in this window too.
    for (const char* name : {"act.run.preflight", "act.run.start"}) addAction(&actions[name]);
    connect(&actions["act.run.preflight"], &QAction::triggered, this, [this] {
        if (isVisible()) run_preflight();
    });
    connect(&actions["act.run.start"], &QAction::triggered, this, [this] {
        if (isVisible()) start();
    });
    const auto key = [this](const QKeySequence& keys, auto act) {
        connect(new QShortcut(keys, this), &QShortcut::activated, this, act);
    };
    key(QKeySequence("Ctrl+S"), [this] { save_recipe(); });
    key(QKeySequence("Ctrl+Shift+L"), [this] { copy_->click(); });
    key(QKeySequence("Ctrl+PgDown"), [this] { show_page((stack_->currentIndex() + 1) % stack_->count()); });
    key(QKeySequence("Ctrl+PgUp"),
        [this] { show_page((stack_->currentIndex() + stack_->count() - 1) % stack_->count()); });
}

} // namespace stillroom::ui
