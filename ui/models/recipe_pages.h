// SPDX-License-Identifier: GPL-3.0-or-later
// Which key of a recipe stands on which page of the launch dialog, with its label and help: one table.
#pragma once

#include "formats/recipe_keys.h"

#include <QString>
#include <vector>

namespace stillroom::ui {

struct PageField {
    const char* key;   // "optimizer.lr"
    const char* label; // "Learning rate"
    const char* help;  // one line: what it does, its unit, what 0 or empty means
    bool many_lines = false;
};

struct RecipePage {
    const char* name;  // of its objectName: "objective"
    const char* title; // "Objective"
    std::vector<PageField> fields;
};

/// Ten pages, in their order.
const std::vector<RecipePage>& recipe_pages();
/// The page that a key stands on; 0 for a key that stands on none (`preset`).
int page_of(const std::string& key);

/// Why a key has no effect beside the others of this recipe; empty: it has one.
QString unused_because(const std::string& key, const formats::Recipe& recipe);

/// The objective of this recipe in one line.
QString formula_of(const formats::Recipe& recipe);

} // namespace stillroom::ui
