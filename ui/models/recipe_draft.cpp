// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/recipe_draft.h"

#include "base/strings.h"
#include "ui/models/recipe_pages.h"

#include <QCoreApplication>
#include <QLocale>
#include <QPointer>
#include <QThreadPool>
#include <nlohmann/json.hpp>

namespace stillroom::ui {

namespace fs = std::filesystem;

namespace {

bool is_list(const formats::Key& key) {
    formats::Recipe any;
    return std::holds_alternative<std::vector<std::string>*>(key.at(any));
}

/// A list has one item a line.
QString text_of(const formats::Key& key, const formats::Recipe& recipe) {
    formats::Recipe copy = recipe;
    const auto value = key.at(copy);
    if (const auto* list = std::get_if<std::vector<std::string>*>(&value))
        return QString::fromStdString(join(**list, "\n"));
    return QString::fromStdString(formats::shown(key, recipe));
}

/// The recipe with this text at `key`, within the key's limits.
Result<formats::Recipe> with_text(const formats::Key& key, const formats::Recipe& recipe,
                                  const QString& text) {
    formats::Recipe changed = recipe;
    const formats::Value value = key.at(changed);
    bool fits = true;
    const QString number = text.trimmed();
    if (auto* string = std::get_if<std::string*>(&value)) {
        **string = text.toStdString();
    } else if (auto* flag = std::get_if<bool*>(&value)) {
        fits = number == "true" || number == "false";
        **flag = number == "true";
    } else if (auto* whole = std::get_if<int64_t*>(&value)) {
        **whole = number.toLongLong(&fits);
    } else if (auto* natural = std::get_if<uint64_t*>(&value)) {
        **natural = number.toULongLong(&fits);
    } else if (auto* real = std::get_if<double*>(&value)) {
        **real = number.toDouble(&fits);
    } else {
        auto& list = *std::get<std::vector<std::string>*>(value);
        list.clear();
        for (const QString& line : text.split('\n', Qt::SkipEmptyParts))
            if (!line.trimmed().isEmpty()) list.push_back(line.trimmed().toStdString());
    }
    if (!fits)
        return Error{"found " + stillroom::quoted(number.toStdString()) + ", expected " +
                         formats::expected(key),
                     "", ""};
    if (auto done = formats::check_value(key, changed, ""); !done) return done.error();
    return changed;
}

/// "lr: found -1, expected a number above 0" without the key, which the field shows already.
QString without_key(const formats::Key& key, const Error& error) {
    QString text = QString::fromStdString(error.message());
    const QString start = QString::fromStdString(key.path()) + ": ";
    if (text.startsWith(start)) text.remove(0, start.size());
    text[0] = text[0].toUpper();
    return text + (text.endsWith('.') ? "" : ".");
}

/// The key that a message names first; the longest of those at one place.
const formats::Key* named_key(const std::string& message) {
    const formats::Key* found = nullptr;
    size_t best = std::string::npos;
    for (const formats::Key& key : formats::recipe_keys()) {
        if (key.section.empty()) continue;
        const size_t at = message.find(key.path());
        if (at == std::string::npos) continue;
        if (!found || at < best || (at == best && key.path().size() > found->path().size())) {
            found = &key;
            best = at;
        }
    }
    if (!found && message.starts_with("objective ")) found = formats::find_key("objective.name");
    return found;
}

QString counted(int64_t count) { return QLocale(QLocale::English).toString(qlonglong(count)); }

/// What a person should know of a value beside the preset's.
QString beside_preset(const std::string& key, const formats::Recipe& yours, const formats::Recipe& preset) {
    if (key == "optimizer.lr" && yours.optimizer.lr != preset.optimizer.lr)
        return QString("%1 times the preset's %2.")
            .arg(yours.optimizer.lr / preset.optimizer.lr, 0, 'g', 3)
            .arg(text_of(*formats::find_key(key), preset));
    if (key == "rollout.max_new" && yours.rollout.max_new < preset.rollout.max_new)
        return QString("Below the preset's cap of %1: more answers will be cut.")
            .arg(counted(preset.rollout.max_new));
    return {};
}

/// What files say of a recipe, looked at on any thread.
std::map<std::string, FieldNote> file_notes(const formats::Recipe& recipe, const fs::path& runs) {
    std::map<std::string, FieldNote> notes;
    std::error_code ignored;
    const auto model = [&](const std::string& key, const std::string& path) {
        if (path.empty()) return;
        const fs::path folder = formats::resolve_path(recipe, path);
        if (folder.extension() == ".gguf" ? fs::is_regular_file(folder, ignored)
                                          : fs::exists(folder / "config.json", ignored))
            return;
        notes[key] = {folder.extension() == ".gguf"
                          ? "No such file: " + QString::fromStdString(folder.string()) + "."
                          : "No config.json in " + QString::fromStdString(folder.string()) + ".",
                      true};
    };
    model("student.model", recipe.student.model);
    if (recipe.teacher.kind == "separate") {
        model("teacher.model", recipe.teacher.model);
        if (!recipe.teacher.model.empty() &&
            fs::equivalent(formats::resolve_path(recipe, recipe.teacher.model),
                           formats::resolve_path(recipe, recipe.student.model), ignored))
            notes["teacher.model"] = {"Teacher equals student (same weights): the loss will be 0. Choose "
                                      "teacher kind self_frozen if that is meant.",
                                      false};
    }
    if (recipe.objective.name == "gopd_pg") model("objective.base_model", recipe.objective.base_model);
    const auto file = [&](const std::string& key, const std::string& path) {
        const fs::path resolved = formats::resolve_path(recipe, path);
        if (path.empty() || fs::is_regular_file(resolved, ignored)) return;
        notes[key] = {"No such file: " + QString::fromStdString(resolved.string()) + ".", true};
    };
    for (const std::string& data : recipe.data.files) file("data.files", data);
    file("evaluation.data", recipe.evaluation.data);
    const fs::path folder = runs / recipe.run.name;
    if (!recipe.run.name.empty() && fs::exists(folder, ignored))
        notes["run.name"] = {"A run of this name exists; this one's folder will get a number.", false};
    return notes;
}

} // namespace

RecipeDraft::RecipeDraft(fs::path runs, QObject* parent) : QObject(parent), runs_(std::move(runs)) {
    timer_.setSingleShot(true);
    timer_.setInterval(200);
    connect(&timer_, &QTimer::timeout, this, &RecipeDraft::check);
}

void RecipeDraft::load(formats::Recipe recipe, formats::Recipe preset) {
    read_ = recipe_ = std::move(recipe);
    preset_ = std::move(preset);
    faults_.clear();
    files_.clear();
    refresh_texts();
    Q_EMIT loaded();
    check();
}

void RecipeDraft::refresh_texts() {
    for (const formats::Key& key : formats::recipe_keys())
        if (!faults_.count(key.path())) texts_[key.path()] = text_of(key, recipe_);
}

QString RecipeDraft::text(const std::string& key) const {
    const auto found = texts_.find(key);
    return found == texts_.end() ? QString() : found->second;
}

void RecipeDraft::set_text(const std::string& path, const QString& text) {
    const formats::Key* key = formats::find_key(path);
    if (!key || texts_[path] == text) return;
    texts_[path] = text;
    auto changed_recipe = with_text(*key, recipe_, text);
    if (changed_recipe) {
        faults_.erase(path);
        recipe_ = std::move(*changed_recipe);
    } else {
        faults_[path] = {without_key(*key, changed_recipe.error()), true};
    }
    timer_.start();
    Q_EMIT changed(path);
}

Result<void> RecipeDraft::set(const std::string& key, const std::string& value) {
    auto changed_recipe = formats::with_settings(recipe_, {key + "=" + value});
    if (!changed_recipe) return changed_recipe.error();
    recipe_ = std::move(*changed_recipe);
    faults_.erase(key);
    refresh_texts();
    timer_.start();
    Q_EMIT changed(key);
    return {};
}

void RecipeDraft::undo(const std::string& key) { set_text(key, text_of(*formats::find_key(key), preset_)); }

std::map<std::string, QString> RecipeDraft::texts() const { return texts_; }

void RecipeDraft::set_texts(const std::map<std::string, QString>& texts) {
    for (const auto& [key, text] : texts) set_text(key, text);
}

void RecipeDraft::place(const QString& text, bool blocks) {
    const formats::Key* key = named_key(text.toStdString());
    if (!key) {
        general_.push_back({text, blocks});
        return;
    }
    FieldNote& note = findings_[key->path()];
    note.text += (note.text.isEmpty() ? "" : " ") + text;
    note.blocks |= blocks;
}

void RecipeDraft::check() {
    timer_.stop();
    findings_.clear();
    general_.clear();
    std::vector<std::string> warnings;
    const auto result = formats::check_recipe(recipe_, warnings);
    const auto sentence = [](const std::string& text) {
        const QString said = QString::fromStdString(text);
        return said.endsWith('.') ? said : said + ".";
    };
    if (!result) {
        const Error& error = result.error();
        place(sentence(error.remedy.empty() ? error.what : error.what + " (" + error.remedy + ")"), true);
    }
    for (const std::string& warning : warnings) place(sentence(warning), false);
    for (const char* key : {"optimizer.lr", "rollout.max_new"}) {
        const QString text = beside_preset(key, recipe_, preset_);
        if (text.isEmpty()) continue;
        FieldNote& note = findings_[key];
        note.text = note.text.isEmpty() ? text : note.text + " " + text;
    }
    if (trimmed(recipe_.run.name).empty() || recipe_.run.name.find('/') != std::string::npos)
        findings_["run.name"] = {"A run needs a name, without \"/\".", true};
    look_at_files();
    Q_EMIT checked();
}

void RecipeDraft::look_at_files() {
    const int generation = ++generation_;
    QThreadPool::globalInstance()->start(
        [self = QPointer<RecipeDraft>(this), recipe = recipe_, runs = runs_, generation] {
            auto notes = file_notes(recipe, runs);
            QMetaObject::invokeMethod(qApp, [self, generation, notes = std::move(notes)] {
                if (!self || self->generation_ != generation || self->files_ == notes) return;
                self->files_ = notes;
                Q_EMIT self->checked();
            });
        });
}

bool RecipeDraft::valid() const {
    const auto blocks = [](const auto& entry) { return entry.second.blocks; };
    return faults_.empty() && std::none_of(findings_.begin(), findings_.end(), blocks) &&
           std::none_of(files_.begin(), files_.end(), blocks) &&
           std::none_of(general_.begin(), general_.end(), [](const FieldNote& note) { return note.blocks; });
}

FieldNote RecipeDraft::note(const std::string& key) const {
    FieldNote said;
    for (const auto* notes : {&faults_, &findings_, &files_}) {
        const auto found = notes->find(key);
        if (found == notes->end()) continue;
        // A fault hides warnings: it is what has to be done.
        if (said.text.isEmpty() || (found->second.blocks && !said.blocks))
            said = found->second;
        else if (said.blocks == found->second.blocks)
            said.text += " " + found->second.text;
    }
    return said;
}

PageState RecipeDraft::page_state(int page) const {
    PageState state = PageState::Good;
    const auto add = [&](const FieldNote& note) {
        if (!note.text.isEmpty()) state = std::max(state, note.blocks ? PageState::Wrong : PageState::Warned);
    };
    for (const PageField& field : recipe_pages()[size_t(page)].fields) add(note(field.key));
    if (page == 0)
        for (const FieldNote& general : general_) add(general);
    return state;
}

std::vector<Difference> RecipeDraft::differences() const {
    std::vector<Difference> found;
    const formats::Recipe preset = formats::with_absolute_paths(preset_),
                          yours = formats::with_absolute_paths(recipe_);
    for (const formats::Key& key : formats::recipe_keys()) {
        if (key.section.empty() || key.section == "provenance") continue;
        const bool wrong = faults_.count(key.path()) > 0;
        if (!wrong && text_of(key, preset) == text_of(key, yours)) continue;
        found.push_back({key.path(), text_of(key, preset_), text(key.path())});
    }
    return found;
}

std::vector<std::string> RecipeDraft::settings() const {
    std::vector<std::string> found;
    for (const formats::Key& key : formats::recipe_keys()) {
        const std::string text = text_of(key, recipe_).toStdString();
        if (text_of(key, read_).toStdString() == text) continue;
        formats::Recipe copy = recipe_;
        const auto value = key.at(copy);
        std::string spelled = formats::shown(key, recipe_);
        // A JSON string is a TOML string too.
        if (std::holds_alternative<std::string*>(value)) spelled = nlohmann::json(text).dump();
        if (is_list(key)) spelled = nlohmann::json(**std::get_if<std::vector<std::string>*>(&value)).dump();
        found.push_back(key.path() + "=" + spelled);
    }
    return found;
}

std::string RecipeDraft::origin() const {
    const auto folder = formats::resources_folder() / "recipes";
    return read_.file.parent_path() == folder ? read_.file.stem().string() : read_.file.string();
}

} // namespace stillroom::ui
