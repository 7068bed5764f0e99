// SPDX-License-Identifier: GPL-3.0-or-later
// Where each token stands in lines of a given width: computed once for a width and a font, on any thread, and
// kept apart from colours, so that neither a recolour nor a scroll lays anything out.
#pragma once

#include "ui/models/token_texts.h"

#include <QFont>
#include <cstdint>
#include <optional>
#include <vector>

namespace stillroom::ui {

/// A piece of one segment on one line. Chips (Bytes, Named, Special, Unknown) and `Completed` are never cut.
struct TokenRun {
    uint32_t token = 0, segment = 0;
    uint32_t from = 0, length = 0; // characters (UTF-16 units) of the segment's text
    float x = 0, width = 0;
};

struct TokenLayout {
    std::vector<TokenRun> runs;
    std::vector<uint32_t> first_run_of_line;  // one more than lines
    std::vector<uint32_t> first_run_of_token; // one more than tokens
    uint32_t end_line = 0;                    // where what follows the last token is drawn
    float end_x = 0;

    size_t lines() const { return first_run_of_line.empty() ? 0 : first_run_of_line.size() - 1; }
    /// The line that a token begins on; logarithmic in the lines.
    size_t line_of(size_t token) const;
    /// The token at `x` on a line; none left or right of its runs.
    std::optional<size_t> token_at(size_t line, double x) const;
    /// The token of a line whose middle is nearest to `x`; none on a line without runs.
    std::optional<size_t> token_near(size_t line, double x) const;
};

/// Lines of `texts` at most `width` wide. They break at line ends of the text, before spaces, and where a
/// word alone is too wide anywhere between characters. `end_width`: room to leave after the last token.
TokenLayout lay_out(const TokenTexts& texts, const QFont& font, double width, double end_width);

/// The padding of a chip on either side of its text.
double chip_padding(const QFont& font);

} // namespace stillroom::ui
