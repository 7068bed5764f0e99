// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/commands.h"

namespace stillroom::cli {

void add_commands(CLI::App& app) {
    add_train(app);
    add_resume(app);
    add_evaluate(app);
    add_export(app);
    add_overlap(app);
    add_objective(app);
    add_inspect(app);
    add_doctor(app);
    add_generate(app);
    add_logprobs(app);
    add_import(app);
    add_tokenize(app);
    add_render(app);
    add_check_answers(app);
    add_statistics(app);
    add_runs(app);
    add_show(app);
    add_version(app);
}

} // namespace stillroom::cli
