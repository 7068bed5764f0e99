// SPDX-License-Identifier: GPL-3.0-or-later
#include "teacher/prompts.h"

#include "base/strings.h"
#include "data/context.h"
#include "data/prompts.h"

#include <algorithm>

namespace stillroom::teacher {

namespace {

Result<PromptSide> side_of(const text::Tokenizer& tokenizer, const char* whose, int64_t limit) {
    auto chat = text::ChatTemplate::of(tokenizer);
    if (!chat)
        return Error{chat.error().message(), std::string("the ") + whose + "'s tokenizer",
                     "add a chat_template.jinja to its folder"};
    return PromptSide{&tokenizer, std::move(*chat), limit};
}

// Longest prompt: what the recipe says, within what leaves room for a whole answer.
Result<int64_t> prompt_limit(int64_t asked, int64_t context, int64_t max_new, const char* whose) {
    const int64_t room = context - max_new;
    if (room < 1) {
        return Error{"rollout.max_new " + std::to_string(max_new) + " leaves no room for a prompt in the " +
                     whose + "'s context of " + std::to_string(context) + " tokens"};
    }
    return asked > 0 ? std::min(asked, room) : room;
}

Result<std::vector<int32_t>> ids_of(const PromptSide& side, const nlohmann::json& messages, bool thinking) {
    auto text = text::render(*side.chat, messages, /*add_generation_prompt=*/true, thinking);
    if (!text) return text.error();
    return side.tokenizer->encode(*text);
}

// What the template appends for the answer to begin: the rendered text with it, less that without.
Result<std::vector<int32_t>> generation_prefix(const PromptSide& side, const nlohmann::json& messages,
                                               bool thinking) {
    auto with = text::render(*side.chat, messages, true, thinking);
    auto without = text::render(*side.chat, messages, false, thinking);
    if (!with) return with.error();
    if (!without) return without.error();
    if (!with->starts_with(*without))
        return std::vector<int32_t>{}; // the template rewrites the turn: no prefix to compare
    return side.tokenizer->encode(with->substr(without->size()));
}

} // namespace

Result<PromptBuilder> PromptBuilder::make(const formats::Recipe& recipe, const text::Tokenizer& student,
                                          int64_t student_context, const text::Tokenizer& teacher,
                                          int64_t teacher_context, int64_t end_token) {
    PromptBuilder builder;
    builder.recipe_ = recipe;
    builder.end_token_ = end_token;
    const auto student_limit =
        prompt_limit(recipe.data.max_prompt, student_context, recipe.rollout.max_new, "student");
    if (!student_limit) return student_limit.error();
    const auto teacher_limit =
        prompt_limit(recipe.teacher.max_prompt, teacher_context, recipe.rollout.max_new, "teacher");
    if (!teacher_limit) return teacher_limit.error();
    auto student_side = side_of(student, "student", *student_limit);
    if (!student_side) return student_side.error();
    auto teacher_side = side_of(teacher, "teacher", *teacher_limit);
    if (!teacher_side) return teacher_side.error();
    builder.student_ = std::move(*student_side);
    builder.teacher_ = std::move(*teacher_side);
    return builder;
}

Result<PromptBuilder::Privileged>
PromptBuilder::privileged_prompt(const PromptSide& side, const data::Example& example, bool thinking) const {
    // With the solution cut to `keep` characters.
    const auto shown = [&](std::optional<int64_t> keep) -> Result<Privileged> {
        const auto text = data::teacher_user_text(example, recipe_.data, recipe_.teacher, keep);
        if (!text) return Privileged{{}, 0, text.error().what};
        auto ids = ids_of(side, data::messages_with(example, recipe_.data, text->text), thinking);
        if (!ids) return ids.error();
        return Privileged{std::move(*ids), text->shortened, {}};
    };
    const auto fits = [&](const Privileged& prompt) { return int64_t(prompt.ids.size()) <= side.limit; };
    auto whole = shown({});
    if (!whole || !whole->dropped.empty() || fits(*whole)) return whole;
    auto shortest = shown(0);
    if (!shortest) return shortest;
    if (!fits(*shortest)) {
        shortest->dropped = "the teacher's prompt is longer than " + std::to_string(side.limit) +
                            " tokens without the solution";
        return shortest;
    }
    // The most characters that still fit, by halving: `best` keeps `low` of them and fits, `high` are too
    // many.
    Privileged best = std::move(*shortest);
    int64_t low = 0, high = best.shortened;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        auto tried = shown(middle);
        if (!tried) return tried;
        if (fits(*tried)) {
            best = std::move(*tried);
            low = middle;
        } else {
            high = middle;
        }
    }
    return best;
}

Result<PreparedPrompt> PromptBuilder::build(const data::Example& example, bool with_context) const {
    const formats::DataSection& data = recipe_.data;
    const formats::TeacherSection& teacher = recipe_.teacher;
    PreparedPrompt prompt;
    prompt.index = example.index;
    prompt.id = example.id;
    prompt.problem = example.problem;
    prompt.gold = example.answer;
    const bool sft = recipe_.objective.name == "sft";
    const bool context = teacher.context != "none" && (!sft || with_context);

    auto plain = ids_of(student_, data::student_messages(example, data), data.thinking);
    if (!plain) return plain.error();
    prompt.student_ids = std::move(*plain);
    if (int64_t(prompt.student_ids.size()) > student_.limit) {
        prompt.dropped = "the student's prompt is longer than " + std::to_string(student_.limit) + " tokens";
        return prompt;
    }
    if (sft) {
        auto target = data::sft_target(example, data, context);
        if (!target) {
            prompt.dropped = target.error().what;
            return prompt;
        }
        prompt.target_ids = student_.tokenizer->encode(*target, /*parse_special=*/false);
        if (int64_t(prompt.target_ids.size()) >= recipe_.rollout.max_new) {
            prompt.dropped = "the solution is longer than max_new";
            return prompt;
        }
        prompt.target_ids.push_back(int32_t(end_token_));
    } else {
        auto teacher_plain = ids_of(teacher_, data::student_messages(example, data), teacher.thinking);
        if (!teacher_plain) return teacher_plain.error();
        prompt.teacher_plain_ids = std::move(*teacher_plain);
    }
    if (!context) {
        prompt.teacher_ids = sft ? prompt.student_ids : prompt.teacher_plain_ids;
    } else {
        const PromptSide& side = sft ? student_ : teacher_;
        auto shown = privileged_prompt(side, example, sft ? data.thinking : teacher.thinking);
        if (!shown) return shown.error();
        prompt.shortened = shown->shortened;
        prompt.dropped = shown->dropped;
        if (!prompt.dropped.empty()) return prompt;
        if (sft) prompt.student_ids = shown->ids;
        prompt.teacher_ids = std::move(shown->ids);
    }
    if (int64_t(prompt.teacher_ids.size()) > teacher_.limit) {
        prompt.dropped = "the teacher's prompt is longer than " + std::to_string(teacher_.limit) + " tokens";
    }
    return prompt;
}

Result<std::vector<int32_t>> PromptBuilder::student_prompt(const data::Example& example) const {
    return ids_of(student_, data::student_messages(example, recipe_.data), recipe_.data.thinking);
}

Result<PromptBuilder::Prefixes> PromptBuilder::generation_prefixes(const data::Example& example) const {
    const auto messages = data::student_messages(example, recipe_.data);
    auto student = generation_prefix(student_, messages, recipe_.data.thinking);
    if (!student) return student.error();
    auto teacher = generation_prefix(teacher_, messages, recipe_.teacher.thinking);
    if (!teacher) return teacher.error();
    return Prefixes{std::move(*student), std::move(*teacher)};
}

Result<int64_t> common_vocabulary(const text::Tokenizer& student, int64_t student_rows,
                                  const text::Tokenizer& teacher, int64_t teacher_rows) {
    const auto different = text::differences(student, teacher, 5);
    if (!different.empty()) {
        std::string shown;
        for (const auto& token : different) {
            shown += (shown.empty() ? "" : "; ") + std::to_string(token.id) + " is " +
                     quoted(token.first.value_or("(none)"), 20) + " and " +
                     quoted(token.second.value_or("(none)"), 20);
        }
        return Error{"the vocabularies of student and teacher differ: id " + shown, "teacher.model",
                     "choose a teacher with the student's tokenizer"};
    }
    const int64_t known = std::min(student.size(), teacher.size());
    if (known > student_rows || known > teacher_rows) {
        return Error{"the tokenizers know " + std::to_string(known) + " ids, the heads have " +
                         std::to_string(student_rows) + " and " + std::to_string(teacher_rows) + " rows",
                     "teacher.model"};
    }
    return known;
}

} // namespace stillroom::teacher
