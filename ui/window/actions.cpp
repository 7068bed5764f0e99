// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/actions.h"

#include "base/result.h"

#include <QActionGroup>
#include <QMenu>
#include <array>

namespace stillroom::ui {

namespace {

enum Kind { Plain, Toggle, Choice, Menu, Line };

struct Entry {
    Kind kind;
    const char *name, *text, *key = "";
    bool in_view = false; // the key works inside the action's view only
};

// A menu starts with Menu at the outermost level ("&File") or within one ("  &Open Recent").
constexpr Entry table[] = {
    {Menu, "menu.file", "&File"},
    {Plain, "act.file.new", "&New Run…", "Ctrl+N"},
    {Plain, "act.file.sample", "Start &Sample Run", "Ctrl+Shift+N"},
    {Plain, "act.file.sampleSelf", "Start Self-&Teaching Sample"},
    {Plain, "act.file.open", "&Open Run Folder…", "Ctrl+O"},
    {Menu, "menu.file.recent", "  Open &Recent"},
    {Line, "", ""},
    {Plain, "act.file.duplicate", "&Duplicate as New Run…", "Ctrl+D"},
    {Plain, "act.file.resume", "R&esume from Checkpoint…", "Ctrl+R"},
    {Plain, "act.file.importRecipe", "&Import Recipe…"},
    {Plain, "act.file.exportRecipe", "E&xport Recipe…", "Ctrl+Shift+S"},
    {Plain, "act.file.copyCommand", "Copy as Command &Line", "Ctrl+Shift+L"},
    {Line, "", ""},
    {Plain, "act.file.settings", "Settin&gs…", "Ctrl+,"},
    {Plain, "act.file.close", "&Close Run", "Ctrl+W"},
    {Plain, "act.file.quit", "&Quit", "Ctrl+Q"},
    {Menu, "menu.edit", "&Edit"},
    {Plain, "act.edit.copy", "&Copy", "Ctrl+C"},
    {Plain, "act.edit.copyJson", "Copy as &JSON", "Ctrl+Shift+C"},
    {Plain, "act.edit.selectAll", "Select &All", "Ctrl+A"},
    {Line, "", ""},
    {Plain, "act.edit.find", "&Find…", "Ctrl+F"},
    {Plain, "act.edit.findNext", "Find &Next", "F3"},
    {Plain, "act.edit.findPrev", "Find &Previous", "Shift+F3"},
    {Menu, "menu.view", "&View"},
    {Choice, "act.view.run", "&Run", "Ctrl+1"},
    {Choice, "act.view.rollouts", "R&ollouts", "Ctrl+2"},
    {Plain, "act.view.next", "&Next View", "Ctrl+Tab"},
    {Plain, "act.view.prev", "&Previous View", "Ctrl+Shift+Tab"},
    {Line, "", ""},
    {Toggle, "act.view.runs", "R&uns", "Ctrl+B"},
    {Toggle, "act.view.alarms", "&Alarms", "Ctrl+Shift+A"},
    {Toggle, "act.view.facts", "Run &Facts", "Ctrl+I"},
    {Toggle, "act.view.timeline", "&Timeline", "Ctrl+J"},
    {Toggle, "act.view.log", "&Log", "Ctrl+L"},
    {Line, "", ""},
    {Plain, "act.view.zoomIn", "Zoom &In", "Ctrl+="},
    {Plain, "act.view.zoomOut", "Zoom &Out", "Ctrl+-"},
    {Plain, "act.view.zoomReset", "Reset &Zoom", "Ctrl+0"},
    {Menu, "menu.view.theme", "  T&heme"},
    {Choice, "act.view.themeSystem", "  &System"},
    {Choice, "act.view.themeLight", "  &Light"},
    {Choice, "act.view.themeDark", "  &Dark"},
    {Plain, "act.view.layoutReset", "Restore &Default Layout"},
    {Toggle, "act.view.fullscreen", "Full S&creen", "F11"},
    {Menu, "menu.run", "&Run"},
    {Plain, "act.run.preflight", "Pre&flight", "F6"},
    {Plain, "act.run.start", "&Start", "Ctrl+Return"},
    {Line, "", ""},
    {Plain, "act.run.pause", "&Pause", "F8"},
    {Plain, "act.run.stopStep", "Stop &After This Step…", "Shift+F8"},
    {Plain, "act.run.stopNow", "Stop &Now and Export…", "Ctrl+Shift+F8"},
    {Plain, "act.run.checkpoint", "&Checkpoint Now", "F9"},
    {Plain, "act.run.evaluate", "&Evaluate Now", "Shift+F9"},
    {Line, "", ""},
    {Plain, "act.run.openFolder", "Show Run Folder in File &Manager", "Ctrl+Shift+O"},
    {Menu, "menu.charts", "&Charts"},
    {Menu, "menu.chart.x", "  &X Axis"},
    {Choice, "act.chart.xStep", "  &Step"},
    {Choice, "act.chart.xWall", "  &Wall Time"},
    {Choice, "act.chart.xActive", "  &Active Time"},
    {Choice, "act.chart.xTokens", "  &Tokens"},
    {Plain, "act.chart.logY", "&Logarithmic Y", "Y", true},
    {Toggle, "act.chart.logAll", "All Charts Lo&garithmic"},
    {Plain, "act.chart.smooth", "&Smoothing On or Off", "S", true},
    {Toggle, "act.chart.raw", "Show &Raw Values", "R", true},
    {Plain, "act.chart.table", "Show as &Table", "T", true},
    {Toggle, "act.chart.follow", "&Follow Newest Step", "F", true},
    {Plain, "act.chart.resetAll", "Reset &Zoom of All Charts", "0", true},
    {Plain, "act.chart.nextX", "&Next X Axis", "X", true},
    {Choice, "act.chart.modeZoom", "&Zoom Mode"},
    {Choice, "act.chart.modeSelect", "Se&lect Steps Mode"},
    {Plain, "act.chart.toggleMode", "Switch Zoom and Select &Mode", "Z", true},
    {Plain, "act.chart.showRollouts", "Show Rollouts of Selected &Steps", "Alt+Return"},
    {Menu, "menu.rollouts", "R&ollouts"},
    {Toggle, "act.roll.follow", "&Follow Newest", "F", true},
    {Plain, "act.roll.next", "&Next Rollout", "J", true},
    {Plain, "act.roll.prev", "&Previous Rollout", "K", true},
    {Plain, "act.roll.nextStep", "Next &Step", "Shift+J", true},
    {Plain, "act.roll.prevStep", "Previous S&tep", "Shift+K", true},
    {Plain, "act.roll.nextWorst", "Next &Worst Token", "N", true},
    {Plain, "act.roll.prevWorst", "Previous W&orst Token", "P", true},
    {Menu, "menu.roll.rank", "  &Rank Worst by"},
    {Choice, "act.roll.rankKl", "  &KL"},
    {Choice, "act.roll.rankGap", "  &Gap"},
    {Choice, "act.roll.rankGain", "  G&ain"},
    {Choice, "act.roll.rankClipped", "  &Clipped"},
    {Choice, "act.roll.rankOverlap", "  &No Overlap"},
    {Choice, "act.roll.rankEntropy", "  &Entropy"},
    {Plain, "act.roll.nextRank", "Next Ranking", "W", true},
    {Menu, "menu.roll.colour", "  &Colour by"},
    {Choice, "act.roll.color0", "  &None", "0", true},
    {Choice, "act.roll.color1", "  &Reverse KL", "1", true},
    {Choice, "act.roll.color2", "  &Gap", "2", true},
    {Choice, "act.roll.color3", "  G&ain", "3", true},
    {Choice, "act.roll.color4", "  &Entropy", "4", true},
    {Choice, "act.roll.color5", "  &Clipped", "5", true},
    {Choice, "act.roll.color6", "  &Overlap", "6", true},
    {Plain, "act.roll.teacher", "&Teacher With / Without Answer", "T", true},
    {Toggle, "act.roll.whitespace", "Visible W&hitespace", "V", true},
    {Toggle, "act.roll.ids", "Raw &Ids", "I", true},
    {Toggle, "act.roll.minimap", "&Minimap", "M", true},
    {Toggle, "act.roll.answer", "&Answer Panel", "A", true},
    {Toggle, "act.roll.prompts", "Prompts Pan&el", "D", true},
    {Toggle, "act.roll.candidates", "Can&didates", "C", true},
    {Plain, "act.roll.pin", "Pin Ro&llout", "X", true},
    {Plain, "act.roll.clearFilters", "Clear Filters", "Ctrl+Shift+F"},
    {Menu, "menu.export", "E&xport"},
    {Plain, "act.exp.checkpoints", "&Checkpoints…", "Ctrl+Shift+H"},
    {Plain, "act.exp.hf", "Checkpoint as &Hugging Face Folder…", "Ctrl+Shift+X"},
    {Plain, "act.exp.charts", "Cha&rts…", "E", true},
    {Plain, "act.exp.chartImage", "Copy Chart &Image"},
    {Plain, "act.exp.metrics", "All &Metrics as CSV…"},
    {Menu, "menu.tools", "&Tools"},
    {Plain, "act.tools.diag", "&Diagnostics…"},
    {Menu, "menu.help", "&Help"},
    {Plain, "act.help.tour", "&Quick Tour", "F1"},
    {Plain, "act.help.glossary", "Metric &Glossary", "Shift+F1"},
    {Plain, "act.help.keys", "&Keyboard Map", "Ctrl+/"},
    {Line, "", ""},
    {Plain, "act.help.about", "&About"},
    {Plain, "act.help.copyDiag", "&Copy Diagnostics"},
    {Plain, "act.help.licences", "&Licences"},
};

/// Choices exclude each other within these.
constexpr std::array groups{"act.view.theme", "act.view.r",    "act.chart.x",
                            "act.chart.mode", "act.roll.rank", "act.roll.color"};

} // namespace

Actions::Actions(QWidget* window, QMenuBar* bar) : QObject(window) {
    QList<QActionGroup*> exclusive;
    for (size_t i = 0; i < groups.size(); ++i) exclusive.push_back(new QActionGroup(this));
    QMenu* outer = nullptr;
    QMenu* inner = nullptr;
    for (const Entry& entry : table) {
        const QString text = QString::fromUtf8(entry.text);
        const bool nested = text.startsWith("  ");
        if (!nested) inner = nullptr;
        if (entry.kind == Menu) {
            QMenu* menu = nested ? outer->addMenu(text.trimmed()) : bar->addMenu(text);
            menu->setObjectName(QString::fromUtf8(entry.name));
            menu->setToolTipsVisible(true);
            (nested ? inner : outer) = menu;
            menus_.push_back(menu);
            continue;
        }
        if (entry.kind == Line) {
            outer->addSeparator();
            continue;
        }
        auto* action = new QAction(text.trimmed(), window);
        action->setObjectName(QString::fromUtf8(entry.name));
        action->setCheckable(entry.kind == Toggle || entry.kind == Choice);
        if (*entry.key) action->setShortcut(QKeySequence(QString::fromUtf8(entry.key)));
        if (entry.in_view) {
            action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
            action->setProperty("inView", true);
        }
        for (size_t i = 0; i < groups.size(); ++i) {
            if (entry.kind == Choice && action->objectName().startsWith(QString::fromUtf8(groups[i]))) {
                exclusive[qsizetype(i)]->addAction(action);
                break;
            }
        }
        (nested && inner ? inner : outer)->addAction(action);
        actions_.push_back(action);
    }
}

QAction& Actions::operator[](const QString& name) const {
    for (QAction* action : actions_) {
        if (action->objectName() == name) return *action;
    }
    throw ErrorException(Error{"no action is named so", name.toStdString()});
}

QMenu* Actions::menu(const QString& name) const {
    for (QMenu* menu : menus_) {
        if (menu->objectName() == name) return menu;
    }
    throw ErrorException(Error{"no menu is named so", name.toStdString()});
}

void Actions::allow(const QString& name, const QString& why) {
    QAction& action = (*this)[name];
    action.setEnabled(why.isEmpty());
    const QString text = action.text().remove('&').remove(QString::fromUtf8("…"));
    action.setToolTip(why.isEmpty() ? text : text + ": " + why);
    action.setStatusTip(why.isEmpty() ? QString() : text + ": " + why);
}

void Actions::bind_to_view(const QString& prefix, QWidget* view) {
    for (QAction* action : actions_) {
        if (action->objectName().startsWith(prefix) && action->property("inView").toBool())
            view->addAction(action);
    }
}

} // namespace stillroom::ui
