// SPDX-License-Identifier: GPL-3.0-or-later
// Where shipped recipes lie, what a recipe's paths mean, and when its deadline is.
#include "formats/recipe_keys.h"

#include "base/strings.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <regex>
#include <source_location>

namespace stillroom::formats {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view resources_mark = "{resources}";

bool holds_recipes(const fs::path& folder) {
    std::error_code ignored;
    return fs::is_directory(folder / "recipes", ignored);
}

fs::path home() {
    const char* folder = std::getenv("HOME");
    return folder == nullptr ? fs::path("/") : fs::path(folder);
}

bool is_anchored(const std::string& path) {
    return path.empty() || path.starts_with(resources_mark) || path == "~" || path.starts_with("~/") ||
           fs::path(path).is_absolute();
}

} // namespace

Result<std::optional<int64_t>> deadline_at(const std::string& deadline, int64_t start) {
    if (deadline.empty()) return std::optional<int64_t>{};
    std::smatch parts;
    static const std::regex span("(?:(\\d{1,4})d)?(?:(\\d{1,5})h)?(?:(\\d{1,6})m)?(?:(\\d{1,8})s)?");
    if (std::regex_match(deadline, parts, span)) {
        int64_t seconds = 0;
        constexpr int64_t units[] = {86400, 3600, 60, 1};
        for (size_t i = 0; i < 4; ++i) {
            if (parts[i + 1].matched) seconds += std::stoll(parts[i + 1]) * units[i];
        }
        return std::optional(start + seconds);
    }
    static const std::regex date("(\\d{4})-(\\d{2})-(\\d{2})[ T](\\d{2}):(\\d{2})(?::(\\d{2}))?");
    if (std::regex_match(deadline, parts, date)) {
        std::tm time{};
        time.tm_year = std::stoi(parts[1]) - 1900;
        time.tm_mon = std::stoi(parts[2]) - 1;
        time.tm_mday = std::stoi(parts[3]);
        time.tm_hour = std::stoi(parts[4]);
        time.tm_min = std::stoi(parts[5]);
        time.tm_sec = parts[6].matched ? std::stoi(parts[6]) : 0;
        time.tm_isdst = -1;
        const std::tm asked = time;
        const std::time_t seconds = std::mktime(&time);
        const bool exists = seconds != -1 && time.tm_mon == asked.tm_mon && time.tm_mday == asked.tm_mday &&
                            time.tm_min == asked.tm_min;
        if (exists) return std::optional(int64_t{seconds});
    }
    return Error{"found " + stillroom::quoted(deadline) +
                     ", expected a time like \"11h35m\" or a date like \"2026-12-24 18:00\"",
                 "run.deadline"};
}

fs::path resources_folder() {
    if (const char* named = std::getenv("STILLROOM_RESOURCES"); named != nullptr && *named != '\0')
        return named;
    std::error_code ignored;
    for (fs::path folder = fs::read_symlink("/proc/self/exe", ignored).parent_path(); !folder.empty();
         folder = folder.parent_path()) {
        if (holds_recipes(folder / "resources")) return folder / "resources";
        if (holds_recipes(folder / "share/stillroom")) return folder / "share/stillroom";
        if (folder == folder.root_path()) break;
    }
    const fs::path source =
        std::source_location::current().file_name(); // <tree>/engine/formats/recipe_files.cpp
    return source.parent_path().parent_path().parent_path() / "resources";
}

std::vector<fs::path> shipped_recipes() {
    std::vector<fs::path> files;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(resources_folder() / "recipes", ignored)) {
        if (entry.path().extension() == ".toml") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

Result<fs::path> find_recipe(const std::string& name_or_file) {
    std::error_code ignored;
    if (fs::is_regular_file(name_or_file, ignored)) return fs::path(name_or_file);
    std::vector<std::string> names;
    for (const fs::path& file : shipped_recipes()) {
        names.push_back(file.stem().string());
        if (names.back() == name_or_file) return file;
    }
    const std::string close = nearest(name_or_file, names);
    return Error{"is neither a file nor a shipped recipe", name_or_file,
                 close.empty() ? "shipped are " + join(names, ", ") : "nearest is '" + close + "'"};
}

fs::path resolve_path(const Recipe& recipe, const std::string& path) {
    if (path.empty()) return {};
    fs::path found;
    if (path.starts_with(resources_mark)) {
        const std::string rest = path.substr(resources_mark.size());
        found = fs::path(resources_folder().string() + rest);
    } else if (path == "~" || path.starts_with("~/")) {
        found = fs::path(home().string() + path.substr(1));
    } else {
        found = recipe.file.parent_path() / path;
    }
    std::error_code ignored;
    return fs::absolute(found, ignored).lexically_normal();
}

Recipe with_absolute_paths(const Recipe& recipe) {
    Recipe changed = recipe;
    const auto anchor = [&](std::string& path) {
        if (!is_anchored(path)) path = resolve_path(recipe, path).string();
    };
    for (const Key& key : recipe_keys()) {
        if (!key.limits.is_path) continue;
        const Value value = key.at(changed);
        if (const auto* text = std::get_if<std::string*>(&value)) anchor(**text);
        if (const auto* texts = std::get_if<std::vector<std::string>*>(&value)) {
            for (std::string& text : **texts) anchor(text);
        }
    }
    return changed;
}

} // namespace stillroom::formats
