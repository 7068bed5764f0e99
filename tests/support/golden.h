// SPDX-License-Identifier: GPL-3.0-or-later
// Where tests find their files. tests/golden and tests/data are in the repository; what a licence forbids to
// copy is read from ../shared where that exists, and the test says so where it does not.
#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace stillroom::test {

inline std::filesystem::path source_folder() { return STILLROOM_SOURCE_DIR; }
inline std::filesystem::path golden(const std::string& path) {
    return source_folder() / "tests/golden" / path;
}
inline std::filesystem::path data(const std::string& path) { return source_folder() / "tests/data" / path; }

/// A file of ../shared, if this checkout has one beside it.
inline std::optional<std::filesystem::path> shared(const std::string& path) {
    const auto file = source_folder() / "../shared" / path;
    if (std::filesystem::exists(file)) return file;
    return std::nullopt;
}

inline nlohmann::json read_json(const std::filesystem::path& file) {
    std::ifstream stream(file);
    if (!stream) throw std::runtime_error("no such file: " + file.string());
    return nlohmann::json::parse(stream);
}

inline std::vector<nlohmann::json> read_json_lines(const std::filesystem::path& file) {
    std::ifstream stream(file);
    if (!stream) throw std::runtime_error("no such file: " + file.string());
    std::vector<nlohmann::json> lines;
    for (std::string line; std::getline(stream, line);) {
        if (!line.empty()) lines.push_back(nlohmann::json::parse(line));
    }
    return lines;
}

/// A folder of this test's own that goes away with it.
class TemporaryFolder {
public:
    TemporaryFolder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "stillroom-XXXXXX").string();
        path_ = mkdtemp(pattern.data());
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

private:
    std::filesystem::path path_;
};

} // namespace stillroom::test
