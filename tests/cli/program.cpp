// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cli/program.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace stillroom::test {

std::vector<nlohmann::json> Outcome::lines() const {
    std::vector<nlohmann::json> lines;
    std::istringstream stream(out);
    for (std::string line; std::getline(stream, line);) lines.push_back(nlohmann::json::parse(line));
    return lines;
}

void Program::SetUp() {
    if (!std::filesystem::exists(STILLROOM_CLI)) GTEST_SKIP() << "stillroom-cli is not built";
}

pid_t Program::start(const std::vector<std::string>& arguments, const std::string& input) const {
    const std::string in = write("in", input), out = path("out"), err = path("err");
    std::vector<char*> raw{const_cast<char*>(STILLROOM_CLI)};
    for (const auto& argument : arguments) raw.push_back(const_cast<char*>(argument.c_str()));
    raw.push_back(nullptr);
    const std::string resources = (source_folder() / "resources").string();
    const pid_t process = fork();
    if (process != 0) return process;
    if (chdir(folder().c_str()) != 0) _exit(126);
    const int create = O_WRONLY | O_CREAT | O_TRUNC;
    dup2(open(in.c_str(), O_RDONLY), STDIN_FILENO);
    dup2(open(out.c_str(), create, 0600), STDOUT_FILENO);
    dup2(open(err.c_str(), create, 0600), STDERR_FILENO);
    setenv("STILLROOM_RESOURCES", resources.c_str(), 1);
    execv(STILLROOM_CLI, raw.data());
    _exit(127);
}

Outcome Program::wait(pid_t process) const {
    int status = 0;
    waitpid(process, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), content_of(path("out")),
            content_of(path("err"))};
}

Outcome Program::run(const std::vector<std::string>& arguments, const std::string& input) const {
    return wait(start(arguments, input));
}

std::string Program::write(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return path(name);
}

std::string content_of(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

std::string json_lines(const std::vector<nlohmann::json>& items) {
    std::string text;
    for (const auto& item : items) text += item.dump() + "\n";
    return text;
}

bool is_one_line(const std::string& text) {
    return std::ranges::count(text, '\n') == 1 && text.ends_with('\n');
}

} // namespace stillroom::test
