// SPDX-License-Identifier: GPL-3.0-or-later
// A set of questions read from JSON lines, its columns named by the recipe.
#pragma once

#include "base/result.h"
#include "formats/recipe.h"

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace stillroom::data {

struct Example {
    std::string id;       // the row's name; without an id column its line number
    int64_t index = 0;    // place in the data set
    std::string problem;  // the question; of a chat row its last user message
    std::string solution; // worked reference solution; empty: none
    std::string answer;   // final answer; from the solution where the row has none; empty: none
    std::string target;   // the column data.target; empty: none
    nlohmann::json
        messages;      // of a chat row: the conversation up to and with the last user message; else null
    int64_t line = 0;  // in its file, from 1
    std::string where; // "file:line", for messages
};

struct Dataset {
    std::vector<std::filesystem::path> files;
    std::vector<Example> examples;
};

/// Reads `files` in turn. A row needs a problem or messages; every other column may be missing or null. The
/// messages of a row may end with the assistant's answer, which then is the solution (if no column gives
/// one). Calculator marks leave solutions and targets where the section asks for it. An error names
/// "file:line", also for a row of another type.
Result<Dataset> load_dataset(const std::vector<std::filesystem::path>& files,
                             const formats::DataSection& columns);

/// `solution` without GSM8K's <<48/2=24>> marks.
std::string without_calculator_marks(const std::string& solution);

} // namespace stillroom::data
