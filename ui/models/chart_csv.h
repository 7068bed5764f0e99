// SPDX-License-Identifier: GPL-3.0-or-later
// Metrics as CSV: every recorded point, one row a step (ui.md 3.5). Read from the store itself, so what is
// written is what was recorded, not what was drawn.
#pragma once

#include "record/queries.h"
#include "ui/models/decimation.h"

#include <filesystem>

namespace stillroom::ui {

struct CsvRequest {
    std::vector<std::string> tags; // empty: all
    int half_life = 0;             // of columns <tag>_smooth_h<half_life>; 0: none
    Breaks breaks;                 // for these
};

/// The rows `run,step,wall_s,active_s,tokens,<metric>...`, numbers as the shortest text that reads back the
/// same: an empty cell was not recorded or undefined, `nan`, `inf` and `-inf` were these.
Result<std::string> metrics_csv(record::RunReader& reader, const CsvRequest& request);
/// Writes the text, opens it again and compares its size. The number of rows below the heading.
Result<int64_t> write_metrics_csv(record::RunReader& reader, const CsvRequest& request,
                                  const std::filesystem::path& to);

} // namespace stillroom::ui
