// SPDX-License-Identifier: GPL-3.0-or-later
// The checks of a preflight that need the models, beside those that every launch makes. Internal to session/.
#pragma once

#include "session/launch_checks.h"

namespace stillroom::session {

/// Eight answers as the recipe samples them, to its cap, and what a step computes of them.
struct DryRun {
    Drawn batch;
    train::Trainer::Evaluated evaluated;
    double learning_seconds = 0; // of the latter
};
Result<DryRun> dry_run(train::Trainer& trainer, const GoOn& go_on);

/// PF08: whose weights teach, and how well both know the data's own texts.
Outcome check_teacher_identity(train::Trainer& trainer);
/// PF11: what there is to learn, and what the context adds.
Outcome check_signal(train::Trainer& trainer, const DryRun& dry);
/// PF15: one seed gives one set of answers, another others.
Outcome check_seed(train::Trainer& trainer, const GoOn& go_on);
/// PF16: how many answers reach the cap.
Outcome check_cap(train::Trainer& trainer, const DryRun& dry);
/// PF21: when the run would end, against its deadline.
Outcome check_time(train::Trainer& trainer, const DryRun& dry);

} // namespace stillroom::session
