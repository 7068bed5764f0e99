// SPDX-License-Identifier: GPL-3.0-or-later
// What a token view shows at one moment, and how it is painted: only the rows that are visible, from a layout
// that was made before.
#pragma once

#include "ui/models/token_layout.h"
#include "ui/models/token_values.h"

#include <QPainter>
#include <QPalette>
#include <memory>

namespace stillroom::ui {

/// The end of a rollout as its last chip says it.
struct TokenEnd {
    QString text; // "EOS", "cut at 7,168", "stopped: <reason>"
    bool cut = false;
};
TokenEnd end_of(const record::RolloutRecord& record);

/// Lines of prompt and response for one width and font.
struct TokenPages {
    TokenLayout prompt, response;
};

struct TokenScene {
    enum Mark : uint8_t { Worst = 1, Saturated = 2, Hit = 4, CurrentHit = 8, Clipped = 16, Masked = 32 };
    static constexpr size_t folded_lines = 3; // of a prompt

    TokenRolloutPtr rollout; // null: nothing is painted
    std::shared_ptr<const TokenPages> pages;
    QFont font;
    double row_height = 20, margin = 8;
    bool unfolded = false;   // all of the prompt is shown
    bool whitespace = true;  // spaces, line ends and tabs get a mark
    bool hatched = false;    // the mode has no values
    std::vector<QRgb> fills; // of tokens; 0: none
    std::vector<uint8_t> marks;
    std::optional<size_t> cursor, hovered;
    std::optional<TokenRange> selection;
    std::vector<size_t> pins;
    bool focused = false;

    bool ready() const { return rollout && pages; }
    size_t prompt_rows() const;
    /// The row that folds the prompt and opens it again; none for a short prompt.
    std::optional<size_t> fold_row() const;
    /// Rows above the response: the prompt, its fold, and one between them if there is a prompt.
    size_t first_row() const;
    size_t rows() const;
    size_t row_of(size_t token) const { return first_row() + pages->response.line_of(token); }
};

/// Paints the rows from `first` on, which begins at the top of `area`, down to its bottom.
void paint_tokens(QPainter& painter, const TokenScene& scene, const QPalette& palette, const QRect& area,
                  size_t first);

} // namespace stillroom::ui
