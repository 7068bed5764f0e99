// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/command.h"

#include "formats/json_lines.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <optional>
#include <unistd.h>

namespace stillroom::cli {

void exit_with(int status) {
    std::cout.flush();
    std::cerr.flush();
    std::exit(status);
}

void report(const Error& error) {
    std::string message = error.message();
    std::replace(message.begin(), message.end(), '\n', ' ');
    std::cerr << "error: " << message << '\n';
}

void add_stream_options(CLI::App& command, Streams& streams) {
    command.add_option("--in", streams.in, "read from this file instead of standard input");
    command.add_option("--out", streams.out, "write to this file instead of standard output");
    command.add_flag("--quiet", streams.quiet, "no progress");
}

int answer_blocks(
    const Streams& streams, size_t items_a_block,
    const std::function<std::vector<Result<nlohmann::json>>(const std::vector<nlohmann::json>&)>& answers) {
    std::ifstream in_file;
    std::ofstream out_file;
    if (!streams.in.empty()) {
        in_file.open(streams.in);
        if (!in_file) throw ErrorException({"cannot be opened for reading", streams.in});
    }
    if (!streams.out.empty()) {
        out_file.open(streams.out);
        if (!out_file) throw ErrorException({"cannot be opened for writing", streams.out});
    }
    std::istream& in = streams.in.empty() ? std::cin : in_file;
    std::ostream& out = streams.out.empty() ? std::cout : out_file;
    const std::string source = streams.in.empty() ? "standard input" : streams.in;
    int status = Done;

    struct Line {
        int64_t number = 0;
        std::optional<Error> fault; // none: it is the next of `items`
    };
    std::vector<Line> lines;
    std::vector<nlohmann::json> items;
    const auto write = [&](const nlohmann::json& line) {
        out << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
    };
    const auto answer_block = [&] {
        auto replies = answers(items);
        size_t next = 0;
        for (auto& [number, fault] : lines) {
            const size_t item = next;
            if (!fault) {
                ++next;
                if (replies[item]) {
                    items[item].update(*replies[item]);
                    write(items[item]);
                    continue;
                }
                fault = replies[item].error();
            }
            status = Failed;
            write({{"error", fault->message()}, {"line", number}});
            report(Error{fault->message(), source + ":" + std::to_string(number)});
        }
        if (streams.in.empty()) out.flush(); // a pipe's other end waits for its answers
        lines.clear();
        items.clear();
    };
    int64_t number = 0;
    for (std::string text; std::getline(in, text);) {
        ++number;
        if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
        auto item = formats::parse_json_line(text, source + ":" + std::to_string(number));
        if (item) {
            lines.push_back({number, std::nullopt});
            items.push_back(std::move(*item));
        } else {
            lines.push_back({number, Error{item.error().what, "", item.error().remedy}});
        }
        if (lines.size() == items_a_block) answer_block();
    }
    if (!lines.empty()) answer_block();
    out.flush();
    if (!out)
        throw ErrorException(
            {"cannot be written to its end", streams.out.empty() ? "standard output" : streams.out});
    return status;
}

int answer_lines(const Streams& streams,
                 const std::function<Result<nlohmann::json>(const nlohmann::json&)>& answer) {
    Progress progress("lines", 0, streams.quiet || streams.in.empty());
    int64_t answered = 0;
    return answer_blocks(streams, 1, [&](const std::vector<nlohmann::json>& items) {
        std::vector<Result<nlohmann::json>> replies;
        for (const nlohmann::json& item : items) {
            try {
                replies.push_back(answer(item));
            } catch (const ErrorException& error) {
                replies.emplace_back(error.error());
            } catch (const std::exception& error) {
                replies.emplace_back(Error{error.what()});
            }
            progress.advance(++answered);
        }
        return replies;
    });
}

Result<std::vector<int32_t>> ids_of(const nlohmann::json& item, int64_t vocabulary) {
    if (!item.contains("ids") || !item["ids"].is_array() || item["ids"].empty())
        return Error{"no \"ids\", a list of at least one token id is expected"};
    std::vector<int32_t> ids;
    for (const nlohmann::json& id : item["ids"]) {
        if (!id.is_number_integer() || id < 0 || id >= vocabulary) {
            return Error{"\"ids\" holds " +
                         id.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
                         ", ids of 0 to " + std::to_string(vocabulary - 1) + " are expected"};
        }
        ids.push_back(id.get<int32_t>());
    }
    return ids;
}

namespace {

CLI::Validator number(const char* expected, bool (*fits)(double)) {
    return {[=](std::string& text) {
                double value = 0;
                const bool read = CLI::detail::lexical_cast(text, value);
                return read && fits(value) ? std::string()
                                           : "found " + text + ", expected a number " + expected;
            },
            ""};
}

} // namespace

CLI::Validator positive() {
    return number("above 0", [](double value) { return value > 0; });
}
CLI::Validator not_negative() {
    return number("of at least 0", [](double value) { return value >= 0; });
}

void add_device_options(CLI::App& command, DeviceOptions& options) {
    command.add_option("--device", options.device, "auto, cpu, cuda or cuda:n")->capture_default_str();
    command.add_option("--dtype", options.dtype, "auto, fp32 or bf16 (auto: bf16 on a GPU, fp32 on a CPU)")
        ->check(CLI::IsMember({"auto", "fp32", "bf16"}))
        ->capture_default_str();
    command.add_flag("--plain", options.plain, "use no fast kernels");
    command.add_option("--seed", options.seed, "seed of every random stream")->capture_default_str();
    command.add_option("--threads", options.threads, "CPU threads (0: all)")->check(not_negative());
}

namespace {
double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
} // namespace

Progress::Progress(std::string label, int64_t total, bool quiet)
    : label_(std::move(label)), total_(total), last_shown_(now()), quiet_(quiet),
      terminal_(isatty(STDERR_FILENO)) {}

Progress::~Progress() {
    if (drawn_) std::fprintf(stderr, "\n");
}

void Progress::advance(int64_t done, const std::string& note) {
    if (quiet_) return;
    const double time = now();
    const int64_t percent = total_ > 0 ? 100 * done / total_ : 0;
    if (terminal_) {
        if (time - last_shown_ < 0.1 && done != total_) return;
        std::string bar;
        if (total_ > 0) {
            const size_t filled = size_t(percent * 30 / 100);
            bar = " [" + std::string(filled, '=') + std::string(30 - filled, ' ') + "] " +
                  std::to_string(done) + "/" + std::to_string(total_);
        } else {
            bar = " " + std::to_string(done);
        }
        std::fprintf(stderr, "\r%s%s %s\033[K", label_.c_str(), bar.c_str(), note.c_str());
        std::fflush(stderr);
        drawn_ = true;
    } else {
        if (total_ > 0 ? percent / 10 == last_percent_ / 10 && last_percent_ >= 0 : time - last_shown_ < 10)
            return;
        std::fprintf(stderr, "%s %lld%s%s %s\n", label_.c_str(), static_cast<long long>(done),
                     total_ > 0 ? "/" : "", total_ > 0 ? std::to_string(total_).c_str() : "", note.c_str());
    }
    last_percent_ = percent;
    last_shown_ = time;
}

} // namespace stillroom::cli
