// SPDX-License-Identifier: GPL-3.0-or-later
// What the subcommands share: how one is added, exit statuses, JSON lines in and out, progress on standard
// error.
#pragma once

#include "base/result.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace stillroom::cli {

/// Exit statuses of cli.md.
enum Status : int { Done = 0, Failed = 1, WrongUsage = 2, Interrupted = 130 };

/// Each subcommand's file defines one `void add_NAME(CLI::App&)`: declares options on a new subcommand and
/// sets its callback, which throws ErrorException or calls exit_with(). All are listed in commands.h.
///
/// Example:
///   void add_tokenize(CLI::App& app) {
///       auto options = std::make_shared<Options>();
///       CLI::App* command = app.add_subcommand("tokenize", "text to token ids");
///       command->add_option("MODEL", options->model)->required();
///       command->footer("Example:\n  echo '{\"text\": \"hello\"}' | build/bin/stillroom-cli tokenize
///       resources/sample/student"); command->callback([options] { exit_with(run(*options)); });
///   }
[[noreturn]] void exit_with(int status);

/// Writes `error: <message>` to standard error as one line.
void report(const Error& error);

/// Where JSON lines come from and go to: --in FILE (standard input), --out FILE (standard output), --quiet,
/// --json.
struct Streams {
    std::string in, out;
    bool quiet = false;
    bool json = false; // reports as one JSON object instead of text
};
void add_stream_options(CLI::App& command, Streams& streams);

/// Reads items line by line and writes one answer an item, in order: the item with the keys of its answer
/// added (those of the answer win, unknown keys of the item are carried through), or {"error": ..., "line":
/// n} in its place. Returns Done, or Failed if any line failed. Shows progress unless quiet.
int answer_lines(const Streams& streams,
                 const std::function<Result<nlohmann::json>(const nlohmann::json&)>& answer);

/// The same for jobs that are faster over many items at once: `answers` gets up to `items_a_block` of them
/// and returns one result each, in order. An exception of `answers` ends the job. Shows no progress itself.
int answer_blocks(
    const Streams& streams, size_t items_a_block,
    const std::function<std::vector<Result<nlohmann::json>>(const std::vector<nlohmann::json>&)>& answers);

/// The token ids in "ids" of an item: at least one, each below `vocabulary`.
Result<std::vector<int32_t>> ids_of(const nlohmann::json& item, int64_t vocabulary);

/// Checks of options, with messages that a person can read.
CLI::Validator positive();
CLI::Validator not_negative();

/// --device, --dtype, --plain, --seed, --threads.
struct DeviceOptions {
    std::string device = "auto"; // auto, cpu, cuda, cuda:n
    std::string dtype = "auto";  // auto, fp32, bf16
    bool plain = false;
    uint64_t seed = 42;
    int threads = 0; // 0: LibTorch's choice
};
void add_device_options(CLI::App& command, DeviceOptions& options);

/// A progress bar on a terminal, a plain line now and then elsewhere, nothing when quiet. Standard error.
class Progress {
public:
    Progress(std::string label, int64_t total, bool quiet); // total 0: unknown
    ~Progress();
    void advance(int64_t done, const std::string& note = {});

private:
    std::string label_;
    int64_t total_, last_percent_ = -1;
    double last_shown_ = 0;
    bool quiet_, terminal_, drawn_ = false;
};

} // namespace stillroom::cli
