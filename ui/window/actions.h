// SPDX-License-Identifier: GPL-3.0-or-later
// Every action of the window in one table: name, menu, text, key. Views connect to theirs by name and say
// when they are enabled; a disabled one says why.
#pragma once

#include <QAction>
#include <QMenuBar>
#include <QObject>

namespace stillroom::ui {

class Actions : public QObject {
    Q_OBJECT
public:
    /// Fills the menu bar, in the table's order.
    Actions(QWidget* window, QMenuBar* bar);

    /// The action of that name ("act.run.pause"); it must exist.
    QAction& operator[](const QString& name) const;
    QList<QAction*> all() const { return actions_; }
    /// The menu of that name ("menu.file.recent"); it must exist.
    QMenu* menu(const QString& name) const;

    /// Enables an action where `why` is empty, else disables it; `why` is its tooltip and status tip then.
    void allow(const QString& name, const QString& why = {});
    /// Gives a view its single-letter keys: they work while the view or a child of it has the focus.
    void bind_to_view(const QString& prefix, QWidget* view);

private:
    QList<QAction*> actions_;
    QList<QMenu*> menus_;
};

} // namespace stillroom::ui
