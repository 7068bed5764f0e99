// SPDX-License-Identifier: GPL-3.0-or-later
// objective: a case of given logits, computed in fp64 by the code that trains.
#include "app/cli/command.h"
#include "app/cli/commands.h"
#include "objective/case.h"

namespace stillroom::cli {

void add_objective(CLI::App& app) {
    auto streams = std::make_shared<Streams>();
    CLI::App* command = app.add_subcommand("objective", "losses and gradients of given logits, in fp64");
    add_stream_options(*command, *streams);
    command->footer("Example:\n  echo '{\"params\": {\"objective\": \"kl_reverse\"}, \"inputs\": "
                    "{\"student_logits\": [[0, 1]], \"teacher_logits\": [[1, 0]]}}'"
                    " | build/bin/stillroom-cli objective");
    command->callback([streams] {
        exit_with(answer_lines(*streams, [](const nlohmann::json& item) -> Result<nlohmann::json> {
            auto answer = objective::evaluate_case(item);
            if (answer && answer->contains("defined")) {
                return Error{"undefined: a row's divergence is infinite, rows " + answer->at("row").dump()};
            }
            return answer;
        }));
    });
}

} // namespace stillroom::cli
