// SPDX-License-Identifier: GPL-3.0-or-later
#include "data/dataset.h"

#include "base/files.h"
#include "base/strings.h"
#include "data/answers.h"
#include "formats/json_lines.h"

namespace stillroom::data {

namespace {

using nlohmann::json;

/// The text of a column: a string, or a number as it stands in the file. Null and missing are empty.
Result<std::string> text_of(const json& row, const std::string& column, const std::string& where) {
    if (column.empty()) return std::string();
    const auto found = row.find(column);
    if (found == row.end() || found->is_null()) return std::string();
    if (found->is_string()) return found->get<std::string>();
    if (found->is_number()) return found->dump();
    return Error{"'" + column + "': found " + std::string(found->type_name()) +
                     ", expected a text or a number",
                 where};
}

std::string columns_of(const json& row) {
    std::vector<std::string> names;
    for (const auto& [name, value] : row.items()) names.push_back("'" + name + "'");
    return stillroom::quoted(join(names, ", "), 120);
}

/// Fills problem, messages and perhaps solution from a chat row.
Result<void> take_messages(const json& messages, const std::string& column, Example& example) {
    const auto fault = [&](const std::string& what) {
        return Result<void>(Error{"'" + column + "': " + what, example.where});
    };
    if (!messages.is_array() || messages.empty()) {
        return fault("found " + std::string(messages.type_name()) + ", expected a list of messages");
    }
    for (size_t i = 0; i < messages.size(); ++i) {
        const json& message = messages[i];
        const bool whole = message.is_object() && message.contains("role") && message["role"].is_string() &&
                           message.contains("content") && message["content"].is_string();
        if (!whole)
            return fault("message " + std::to_string(i + 1) + " needs a 'role' and a 'content', both texts");
    }
    example.messages = messages;
    const auto role = [&] { return example.messages.empty() ? json() : example.messages.back()["role"]; };
    if (role() == "assistant") {
        if (example.solution.empty()) example.solution = example.messages.back()["content"];
        example.messages.erase(example.messages.size() - 1);
    }
    if (role() != "user") return fault("found no user message at the end, expected a question to answer");
    example.problem = example.messages.back()["content"];
    return {};
}

Result<Example> read_row(const json& row, const formats::DataSection& columns, const std::string& where) {
    Example example;
    example.where = where;
    struct Column {
        const std::string& name;
        std::string& text;
    };
    for (const auto& [name, text] :
         {Column{columns.problem, example.problem}, Column{columns.solution, example.solution},
          Column{columns.answer, example.answer}, Column{columns.target, example.target},
          Column{columns.id, example.id}}) {
        auto read = text_of(row, name, where);
        if (!read) return read.error();
        text = std::move(*read);
    }
    const auto chat = columns.messages.empty() ? row.end() : row.find(columns.messages);
    if (example.problem.empty() && chat != row.end() && !chat->is_null()) {
        if (auto taken = take_messages(*chat, columns.messages, example); !taken) return taken.error();
    }
    if (trimmed(example.problem).empty()) {
        return Error{"no '" + columns.problem + "'" +
                         (columns.messages.empty() ? "" : " and no '" + columns.messages + "'") + ", found " +
                         columns_of(row),
                     where, "data.problem names the column"};
    }
    if (!columns.id.empty() && example.id.empty())
        return Error{"no '" + columns.id + "', which data.id names", where};
    if (example.answer.empty()) example.answer = final_answer(example.solution).value_or("");
    if (columns.strip_calculator) {
        example.solution = without_calculator_marks(example.solution);
        example.target = without_calculator_marks(example.target);
    }
    return example;
}

} // namespace

std::string without_calculator_marks(const std::string& solution) {
    std::string text;
    for (size_t at = 0; at < solution.size();) {
        const size_t open = solution.find("<<", at);
        const size_t close = open == std::string::npos ? open : solution.find(">>", open + 2);
        const size_t line_end = open == std::string::npos ? open : solution.find('\n', open);
        if (close == std::string::npos) return text + solution.substr(at);
        if (line_end < close) { // a mark never spans lines
            text += solution.substr(at, line_end - at);
            at = line_end;
            continue;
        }
        text += solution.substr(at, open - at);
        at = close + 2;
    }
    return text;
}

Result<Dataset> load_dataset(const std::vector<std::filesystem::path>& files,
                             const formats::DataSection& columns) {
    Dataset set;
    set.files = files;
    for (const auto& file : files) {
        const auto content = read_file(file);
        if (!content) return content.error();
        int64_t line = 0;
        for (size_t begin = 0; begin < content->size();) {
            if (columns.limit > 0 && int64_t(set.examples.size()) == columns.limit) return set;
            const size_t end = std::min(content->find('\n', begin), content->size());
            const std::string_view text = trimmed(std::string_view(*content).substr(begin, end - begin));
            begin = end + 1;
            ++line;
            if (text.empty()) continue;
            const std::string where = file.string() + ":" + std::to_string(line);
            const auto row = formats::parse_json_line(text, where);
            if (!row) return row.error();
            auto example = read_row(*row, columns, where);
            if (!example) return example.error();
            example->index = int64_t(set.examples.size());
            example->line = line;
            if (columns.id.empty()) {
                example->id = (files.size() > 1 ? file.stem().string() + ":" : "") + std::to_string(line);
            }
            set.examples.push_back(std::move(*example));
        }
    }
    if (set.examples.empty()) {
        return Error{"holds no rows", files.empty() ? "data.files" : files.front().string()};
    }
    return set;
}

} // namespace stillroom::data
