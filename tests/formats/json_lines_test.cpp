// SPDX-License-Identifier: GPL-3.0-or-later
#include "formats/json_lines.h"
#include "tests/support/golden.h"

#include <gtest/gtest.h>

namespace stillroom::formats {

namespace {

std::filesystem::path written(const test::TemporaryFolder& folder, const std::string& content) {
    const auto file = folder / "items.jsonl";
    std::ofstream(file, std::ios::binary) << content;
    return file;
}

} // namespace

TEST(JsonLines, every_dataset_of_the_repository_is_read_with_its_number_of_rows) {
    const auto gsm8k = test::source_folder() / "resources/gsm8k";
    const std::vector<std::pair<std::filesystem::path, size_t>> rows{
        {test::source_folder() / "resources/math500/math500.jsonl", 500},
        {test::data("datasets/math_small_with_responses.jsonl"), 59},
        {gsm8k / "gsm8k_test.jsonl", 1319},
        {gsm8k / "gsm8k_train_2000.jsonl", 2000}};
    for (const auto& [file, count] : rows) {
        const auto items = read_json_lines(file);
        ASSERT_TRUE(items) << items.error().message();
        EXPECT_EQ(items->size(), count) << file;
        EXPECT_EQ(*items, test::read_json_lines(file)) << file;
    }
}

TEST(JsonLines, blank_lines_carriage_returns_and_a_missing_last_line_end_are_accepted) {
    test::TemporaryFolder folder;
    const auto items = read_json_lines(written(folder, "{\"a\": 1}\r\n\n   \n{\"a\": \"\\u00e9\"}"));
    ASSERT_TRUE(items) << items.error().message();
    ASSERT_EQ(items->size(), 2u);
    EXPECT_EQ((*items)[1]["a"], "é");
}

TEST(JsonLines, a_bad_line_is_an_error_with_its_number) {
    test::TemporaryFolder folder;
    const auto items = read_json_lines(written(folder, "{\"a\": 1}\n\n{\"a\": \n{\"a\": 2}\n"));
    ASSERT_FALSE(items);
    EXPECT_NE(items.error().message().find("items.jsonl:3: "), std::string::npos) << items.error().message();
}

TEST(JsonLines, faults_of_a_line_are_named) {
    const std::vector<std::pair<std::string, std::string>> faults{
        {"[1]", "an object"},
        {"7", "an object"},
        {"{\"a\": 1} x", "column 10"},
        {"{\"a\": 1, \"a\": 2}", "\"a\" appears twice"},
        {"{\"a\": NaN}", "column 7"},
        {"{\"a\": 1e999}", "1e999"},
        {"{\"a\": \"\xff\"}", "UTF-8"},
        {"{'a': 1}", "column 2"},
        {"", "empty"},
        {"{\"a\": 01}", "column 8"},
        {"{\"a\": \"\t\"}", "control character"},
        {"{\"a\": \"\\ud800\"}", "surrogate"},
    };
    for (const auto& [line, named] : faults) {
        const auto item = parse_json_line(line, "items.jsonl:7");
        ASSERT_FALSE(item) << line;
        EXPECT_TRUE(item.error().message().starts_with("items.jsonl:7: ")) << item.error().message();
        EXPECT_NE(item.error().message().find(named), std::string::npos) << item.error().message();
        EXPECT_EQ(item.error().message().find('\n'), std::string::npos);
        EXPECT_EQ(item.error().message().find("json.exception"), std::string::npos) << item.error().message();
    }
}

TEST(JsonLines, one_key_in_two_different_objects_is_no_fault) {
    const auto item = parse_json_line(R"({"a": {"b": 1}, "c": [{"b": 1}, {"b": 2}], "b": 3})", "x:1");
    ASSERT_TRUE(item) << item.error().message();
    EXPECT_EQ(*item, nlohmann::json::parse(R"({"a": {"b": 1}, "c": [{"b": 1}, {"b": 2}], "b": 3})"));
}

TEST(JsonLines, depth_is_bounded_at_64_levels) {
    const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
    EXPECT_TRUE(parse_json(nested(64), "x"));
    EXPECT_FALSE(parse_json(nested(65), "x"));
    EXPECT_FALSE(parse_json(std::string(10'000'000, '['), "x"));
}

TEST(JsonLines, a_fault_in_a_file_is_placed_by_line_and_column) {
    test::TemporaryFolder folder;
    const auto value = read_json(written(folder, "{\n  \"a\": 1,\n  \"b\" 2\n}\n"));
    ASSERT_FALSE(value);
    EXPECT_NE(value.error().message().find("line 3, column 7"), std::string::npos) << value.error().message();
}

TEST(JsonLines, an_absent_file_and_a_folder_are_errors) {
    test::TemporaryFolder folder;
    EXPECT_FALSE(read_json(folder / "absent.json"));
    EXPECT_FALSE(read_json(folder.path()));
    EXPECT_FALSE(read_json_lines(folder / "absent.jsonl"));
}

} // namespace stillroom::formats
