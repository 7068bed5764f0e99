// SPDX-License-Identifier: GPL-3.0-or-later
// stillroom-cli: one program, one subcommand a job, each in its own file.
#include "app/cli/command.h"
#include "app/cli/commands.h"

#include <csignal>
#include <cstdlib>
#include <iostream>

namespace {

/// For all subcommands that have nothing to save; train and resume set their own.
void end_at_once(int) { std::_Exit(stillroom::cli::Interrupted); }

} // namespace

int main(int argc, char** argv) {
    using namespace stillroom;
    CLI::App app("Stillroom: on-policy distillation of language models on one workstation.", "stillroom-cli");
    app.require_subcommand(1);
    app.fallthrough(false);
    cli::add_commands(app);
    std::signal(SIGINT, end_at_once);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error, std::cout, std::cerr) == 0 ? cli::Done : cli::WrongUsage;
    } catch (const ErrorException& error) {
        cli::report(error.error());
        return cli::Failed;
    } catch (const std::exception& error) {
        cli::report(Error{error.what()});
        return cli::Failed;
    }
    return cli::Done;
}
