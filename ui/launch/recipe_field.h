// SPDX-License-Identifier: GPL-3.0-or-later
// One field of the launch dialog: label, editor by the key's type, and below it what is wrong with its value.
#pragma once

#include "ui/models/recipe_draft.h"
#include "ui/models/recipe_pages.h"

#include <QLabel>
#include <QWidget>

class QGridLayout;

namespace stillroom::ui {

class RecipeField : public QObject {
    Q_OBJECT
public:
    /// Puts the field's widgets in the next row of `grid`. `mnemonic` is the place of its letter in the
    /// label, -1: none.
    RecipeField(RecipeDraft& draft, const PageField& field, int mnemonic, QGridLayout& grid, QWidget* parent);

    const std::string& key() const { return key_; }
    QWidget* editor() const { return editor_; }
    const QString& help() const { return help_; }
    /// The draft's text, where it is another than the editor's.
    void show_text();
    /// Its note, and whether the key is used at all.
    void show_note();

Q_SIGNALS:
    void focused(const QString& help);

protected:
    bool eventFilter(QObject* object, QEvent* event) override;

private:
    QWidget* make_editor(const formats::Key& key, bool many_lines, QWidget* parent);
    QWidget* make_list(const formats::Key& key, QWidget* parent);
    QWidget* make_path(QWidget* parent);
    void take(const QString& text);

    RecipeDraft& draft_;
    std::string key_;
    QString help_;
    QLabel *label_, *note_, *mark_;
    QWidget* editor_;
    std::function<void(const QString&)> show_; // puts a text into the editor
    bool showing_ = false;
};

} // namespace stillroom::ui
