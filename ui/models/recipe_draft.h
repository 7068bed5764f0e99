// SPDX-License-Identifier: GPL-3.0-or-later
// A recipe while it is being edited: the text of every field (also a wrong one), what is wrong with it, and
// where it differs from its preset. Knows no widget.
#pragma once

#include "formats/recipe_keys.h"

#include <QObject>
#include <QStringList>
#include <QTimer>
#include <map>
#include <vector>

namespace stillroom::ui {

/// What is said below a field.
struct FieldNote {
    QString text;
    bool blocks = false; // a fault, else a warning
    bool operator==(const FieldNote&) const = default;
};

struct Difference {
    std::string key;
    QString preset, yours;
    bool operator==(const Difference&) const = default;
};

enum class PageState { Good, Warned, Wrong };

class RecipeDraft : public QObject {
    Q_OBJECT
public:
    /// `runs`: the folder in which the run will make its own.
    explicit RecipeDraft(std::filesystem::path runs, QObject* parent = nullptr);

    /// Starts anew from `recipe`, as it was read; differences are to `preset`.
    void load(formats::Recipe recipe, formats::Recipe preset);
    const formats::Recipe& preset() const { return preset_; }
    /// What the valid fields say; a field with a fault has the value it had before.
    const formats::Recipe& recipe() const { return recipe_; }

    QString text(const std::string& key) const;
    void set_text(const std::string& key, const QString& text);
    /// As `--set key=value`. An error leaves everything as it was.
    Result<void> set(const std::string& key, const std::string& value);
    /// The preset's value again.
    void undo(const std::string& key);
    /// Every field's text, and all of them back: a draft on disk. Unknown keys are left out.
    std::map<std::string, QString> texts() const;
    void set_texts(const std::map<std::string, QString>& texts);

    /// Checks combinations and files 200 ms after the last edit; checked() follows. This does it at once,
    /// files excepted, which are looked at on another thread and may change the notes later.
    void check();
    bool valid() const;
    /// The fault or warning of a field.
    FieldNote note(const std::string& key) const;
    /// Warnings and faults that belong to no field.
    const std::vector<FieldNote>& notes() const { return general_; }
    PageState page_state(int page) const;
    std::vector<Difference> differences() const;

    /// `key=value` of every key that differs from the recipe as it was read, as `--set` takes them.
    std::vector<std::string> settings() const;
    /// The file (or the shipped recipe's name) that these settings are over; empty: it was read from none.
    std::string origin() const;

Q_SIGNALS:
    void loaded();
    void changed(const std::string& key);
    void checked();

private:
    void refresh_texts();
    void look_at_files();
    void place(const QString& text, bool blocks);

    std::filesystem::path runs_;
    formats::Recipe read_, preset_, recipe_;
    std::map<std::string, QString> texts_;
    std::map<std::string, FieldNote> faults_, findings_,
        files_; // of single values, of combinations, of files
    std::vector<FieldNote> general_;
    int generation_ = 0; // of look_at_files: late answers are dropped
    QTimer timer_;
};

} // namespace stillroom::ui
