// SPDX-License-Identifier: GPL-3.0-or-later
// Chat templates against jinja2's own renderings (tests/data/tokenizer_golden/derived_chat.jsonl,
// tests/golden/gguf).
#include "tests/support/golden.h"
#include "text/chat_template.h"

#include <gtest/gtest.h>

namespace stillroom::text {
namespace {

using nlohmann::json;
using test::data;

// A template with the special tokens that go with it, from the files of tokenizers/<name>.
ChatTemplate template_in(const std::filesystem::path& folder) {
    const json config = test::read_json(folder / "tokenizer_config.json");
    const auto token = [&](const char* key) -> std::optional<std::string> {
        if (!config.contains(key) || config[key].is_null()) return std::nullopt;
        return config[key].is_object() ? config[key]["content"].get<std::string>()
                                       : config[key].get<std::string>();
    };
    std::string source;
    if (std::ifstream file(folder / "chat_template.jinja", std::ios::binary); file) {
        source.assign(std::istreambuf_iterator<char>(file), {});
    } else {
        source = config["chat_template"].get<std::string>();
    }
    return ChatTemplate::parse(source, {.bos = token("bos_token"), .eos = token("eos_token")}).value();
}

int compare_chats(const std::string& name, const std::filesystem::path& folder) {
    const ChatTemplate chat_template = template_in(folder);
    int compared = 0;
    for (const json& row : test::read_json_lines(data("tokenizer_golden/derived_chat.jsonl"))) {
        if (row["template"] != name) continue;
        std::optional<bool> thinking;
        if (row.contains("enable_thinking")) thinking = row["enable_thinking"].get<bool>();
        const auto text =
            render(chat_template, row["messages"], row["add_generation_prompt"].get<bool>(), thinking);
        EXPECT_TRUE(text) << row["id"] << " " << text.error().message();
        if (text) {
            EXPECT_EQ(*text, row["rendered"].get<std::string>()) << row["id"];
        }
        ++compared;
    }
    return compared;
}

TEST(ChatTemplates, qwen2_5_renders_as_jinja2_does) {
    EXPECT_EQ(compare_chats("qwen2.5", data("tokenizers/qwen2.5")), 12);
}

TEST(ChatTemplates, qwen3_renders_as_jinja2_does) {
    EXPECT_EQ(compare_chats("qwen3", data("tokenizers/qwen3")), 24);
}

TEST(ChatTemplates, deepseek_distill_renders_as_jinja2_does) {
    EXPECT_EQ(compare_chats("deepseek-r1-distill-qwen", data("tokenizers/deepseek-r1-distill-qwen")), 12);
}

TEST(ChatTemplates, llama3_renders_as_jinja2_does) {
    const auto folder = test::shared("data/tokenizers/llama3");
    if (!folder) GTEST_SKIP() << "no ../shared/data/tokenizers/llama3 beside this checkout";
    EXPECT_EQ(compare_chats("llama3", *folder), 12);
}

TEST(ChatTemplates, the_golden_file_holds_no_other_template) {
    std::map<std::string, int> rows;
    for (const json& row : test::read_json_lines(data("tokenizer_golden/derived_chat.jsonl"))) {
        ++rows[row["template"].get<std::string>()];
    }
    const std::map<std::string, int> expected{
        {"qwen2.5", 12}, {"qwen3", 24}, {"deepseek-r1-distill-qwen", 12}, {"llama3", 12}};
    EXPECT_EQ(rows, expected);
}

TEST(ChatTemplates, smollm2_renders_as_in_its_gguf_file) {
    const json golden = test::read_json(test::golden("gguf/smollm2-135m-q4_1.chat.json"));
    const auto chat_template = ChatTemplate::parse(golden["template"].get<std::string>()).value();
    int compared = 0;
    for (const json& chat : golden["chats"]) {
        EXPECT_EQ(render(chat_template, chat["messages"], true).value(), chat["rendered"].get<std::string>());
        EXPECT_EQ(render(chat_template, chat["messages"], false).value(),
                  chat["rendered_without_generation_prompt"].get<std::string>());
        ++compared;
    }
    EXPECT_EQ(compared, 3);
}

TEST(ChatTemplates, a_list_of_messages_and_its_json_render_the_same) {
    const ChatTemplate chat_template = template_in(data("tokenizers/qwen2.5"));
    const std::vector<Message> messages{{"system", "Be brief."}, {"user", "2+2?"}};
    const std::string expected = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n2+2?<|im_end|>\n"
                                 "<|im_start|>assistant\n";
    EXPECT_EQ(render(chat_template, messages, true).value(), expected);
    EXPECT_EQ(render(chat_template, json::parse(R"([{"role": "system", "content": "Be brief."},
                                                     {"role": "user", "content": "2+2?"}])"),
                     true)
                  .value(),
              expected);
}

TEST(ChatTemplates, tools_and_tool_calls_keep_the_order_of_their_keys) {
    const ChatTemplate chat_template = template_in(data("tokenizers/qwen3"));
    RenderOptions options;
    options.add_generation_prompt = false;
    options.tools = nlohmann::ordered_json::parse(
        R"([{"type": "function", "function": {"name": "f", "arguments": [1, 2.5, null, true]}}])");
    const auto messages = nlohmann::ordered_json::parse(
        R"([{"role": "user", "content": "é?"},
            {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {"z": 1, "a": "\"x\""}}}]},
            {"role": "tool", "content": "7"}])");
    const std::string text = render(chat_template, messages, options).value();
    EXPECT_NE(
        text.find(R"({"type": "function", "function": {"name": "f", "arguments": [1, 2.5, null, true]}})"),
        std::string::npos)
        << text;
    EXPECT_NE(
        text.find(
            "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"z\": 1, \"a\": \"\\\"x\\\"\"}}\n</tool_call>"),
        std::string::npos)
        << text;
    EXPECT_NE(text.find("<|im_start|>user\n<tool_response>\n7\n</tool_response><|im_end|>\n"),
              std::string::npos)
        << text;
}

TEST(ChatTemplates, a_message_without_a_role_is_named) {
    const ChatTemplate chat_template = template_in(data("tokenizers/qwen2.5"));
    const auto text =
        render(chat_template, json::parse(R"([{"role": "user", "content": "x"}, {"content": "y"}])"), true);
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().message(), "messages[1]: has no role, expected system, user or assistant");
}

TEST(ChatTemplates, what_a_template_refuses_is_an_error_with_its_reason_and_line) {
    const auto chat_template =
        ChatTemplate::parse("{% for m in messages %}\n{% if m.role != 'user' %}\n"
                            "{{ raise_exception('only users, not ' + m.role) }}\n{% endif %}{% endfor %}");
    const auto text = render(*chat_template, json::parse(R"([{"role": "system", "content": "x"}])"), true);
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().message(),
              "chat template line 3: the template refuses these messages: only users, not system");
}

} // namespace
} // namespace stillroom::text
