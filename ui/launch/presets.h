// SPDX-License-Identifier: GPL-3.0-or-later
// The shipped recipes as the launch dialog lists them. Read on any thread.
#pragma once

#include "formats/recipe.h"

#include <QString>
#include <vector>

namespace stillroom::ui {

/// Every shipped recipe that can be read: first those that a person starts with, in the order of ui.md 5.1.
std::vector<formats::Recipe> read_presets();
/// "DeepSeek-R1-Distill-Qwen-1.5B from JustRL-DeepSeek-1.5B, topk_uniform_tail, 16 x 4, lr 3e-06".
QString one_line(const formats::Recipe& recipe);

} // namespace stillroom::ui
