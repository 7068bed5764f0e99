// SPDX-License-Identifier: GPL-3.0-or-later
// stillroom-cli as a process: arguments and standard input in, status and both outputs out.
#pragma once

#include "tests/support/golden.h"

#include <gtest/gtest.h>
#include <sys/types.h>

namespace stillroom::test {

struct Outcome {
    int status = -1; // 128 and the signal for a process that was killed
    std::string out, err;

    /// Standard output as JSON lines, and as one value.
    std::vector<nlohmann::json> lines() const;
    nlohmann::json object() const { return nlohmann::json::parse(out); }
};

/// A test of the program, in a folder of its own. Skipped where the program is not built.
class Program : public testing::Test {
protected:
    void SetUp() override;

    /// Runs the program with these arguments, in the test's folder.
    Outcome run(const std::vector<std::string>& arguments, const std::string& input = "") const;
    /// Starts the program, its outputs into `out` and `err` of the test's folder.
    pid_t start(const std::vector<std::string>& arguments, const std::string& input = "") const;
    Outcome wait(pid_t process) const;

    /// Writes a file into the test's folder; its path.
    std::string write(const std::string& name, const std::string& content) const;
    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    const std::filesystem::path& folder() const { return folder_.path(); }

private:
    TemporaryFolder folder_;
};

std::string content_of(const std::filesystem::path& file);
std::string json_lines(const std::vector<nlohmann::json>& items);
/// Whether `text` is one line.
bool is_one_line(const std::string& text);

} // namespace stillroom::test
