// SPDX-License-Identifier: GPL-3.0-or-later
// Colours of tokens by their value: ramps that begin at the background and grow stronger, the same in the
// token view, its legend and the minimap.
#pragma once

#include "ui/models/token_values.h"

#include <QColor>
#include <QPalette>

namespace stillroom::ui {

/// The colour at a place of a mode's scale (0..1, or -1..1). Sequential: cividis, towards yellow on dark and
/// towards navy on light. Gap: the student's blue to the teacher's orange. Gain: green to purple.
QColor ramp_colour(float place, const ColourChoice& choice, const QPalette& palette);

/// Black or white, whichever is read better on `background`: at least 4.5:1.
QColor text_on(const QColor& background);

/// Contrast of two opaque colours, 1 to 21 (WCAG 2).
double contrast(const QColor& a, const QColor& b);

/// Text that stands back, with a contrast of at least 4.5:1 on the palette's base.
QColor quiet_text(const QPalette& palette);

/// The colour of a special token's chip.
QColor special_colour(SpecialRole role, const QPalette& palette);

} // namespace stillroom::ui
