// SPDX-License-Identifier: GPL-3.0-or-later
// PF04 to PF07: tokenizers, special tokens, chat templates, and what the teacher is shown.
#include "base/strings.h"
#include "data/answers.h"
#include "data/context.h"
#include "data/prompts.h"
#include "session/preflight_checks.h"
#include "text/chat_template.h"
#include "train/batch.h"

#include <algorithm>
#include <map>
#include <set>

namespace stillroom::session {

namespace {

std::string ids_text(const std::vector<int64_t>& ids) {
    std::vector<std::string> texts;
    for (const int64_t id : ids) texts.push_back(std::to_string(id));
    return texts.empty() ? "none" : join(texts, ", ");
}

// "<|im_start|>, assistant, \n": the tokens one by one.
std::string tokens_text(const text::Tokenizer& tokenizer, std::span<const text::TokenId> ids) {
    std::vector<std::string> texts;
    for (const text::TokenId id : ids) texts.push_back(quoted(tokenizer.bytes_of(id), 24));
    return texts.empty() ? "nothing" : join(texts, " ");
}

// One fault is said once: PF03 names files that are missing or wrong, PF04 a tokenizer.
std::optional<Outcome> missing_files(const Subject& subject) {
    for (const ModelFiles* model : {&subject.models.student, &subject.models.scorer()}) {
        if (model->config_fault) return skip("the " + model->role + " cannot be read: see PF03");
    }
    return std::nullopt;
}

// Why the prompts of the run cannot be looked at, if so.
std::optional<Outcome> not_ready(const Subject& subject) {
    if (auto outcome = missing_files(subject)) return outcome;
    for (const ModelFiles* model : {&subject.models.student, &subject.models.scorer()}) {
        if (model->tokenizer_fault) return skip("no tokenizer of the " + model->role + ": see PF04");
    }
    if (!subject.prompts) return fail(subject.prompts.error());
    if (!subject.examples) return fail(subject.examples.error());
    return std::nullopt;
}

int64_t padding_rows(const ModelFiles& model) {
    return model.config->vocab - std::min(model.config->vocab, model.tokenizer->size());
}

} // namespace

std::vector<std::string> probe_texts() {
    std::vector<std::string> texts;
    for (char c = ' '; c <= '~'; ++c) texts.push_back(std::string(1, c)); // 95
    std::string digits, blanks;
    for (int i = 1; i <= 20; ++i) { // 60: digits, blanks, line breaks by length
        digits += char('0' + i % 10);
        blanks += ' ';
        texts.push_back(digits);
        texts.push_back("a" + blanks + "b");
        texts.push_back(std::string(size_t(i), '\n') + "c");
    }
    for (const char* text : {"I'll say we've done it, you'd know they're right: he's here, I'm not.",
                             "DON'T SHOUT, IT'S LATE",
                             " leading blank",
                             "trailing blank ",
                             "\ttabs\t\tand  blanks \t mixed",
                             "line\r\nbreaks\rof\nthree kinds",
                             "",
                             "snake_case camelCase kebab-case SCREAMING_CASE",
                             "3.14159, 2.71828, 1e-10, -0.5, 1,000,000",
                             "12345678901234567890 / 7 = ?",
                             "50% of $12.50 is $6.25",
                             "\\frac{1}{2} + \\sqrt{x^2 + y^2} \\le \\pi r^2",
                             "\\boxed{\\dfrac{3}{4}}",
                             "$$\\sum_{i=1}^{n} i = \\frac{n(n+1)}{2}$$",
                             "\\begin{align*} a &= b \\\\ c &= d \\end{align*}",
                             "x_1, x_2, \\ldots, x_n \\in \\mathbb{R}",
                             "#### 72",
                             "<<48/2=24>>24",
                             "Answer: 42.",
                             "def f(x):\n    return x ** 2  # square\n",
                             "for (int i = 0; i < n; ++i) { sum += a[i]; }",
                             "SELECT * FROM t WHERE a >= 3 AND b IS NOT NULL;",
                             "{\"key\": [1, 2.5, null, true]}",
                             "https://example.org/path?query=1&x=%20#part",
                             "someone@example.org",
                             "/usr/lib/x86_64-linux-gnu",
                             "<think>\nLet me see.\n</think>\n\nDone.",
                             "<tool_call>{}</tool_call>",
                             "<|endoftext|>",
                             "<|im_start|>user\nhello<|im_end|>\n",
                             "<|begin_of_text|><|eot_id|>",
                             "<s>[INST] hi [/INST]</s>",
                             "caf\u00e9 na\u00efve \u00fcber \u00e5ngstr\u00f6m",
                             "cafe\u0301 decomposed",
                             "\u00bfQu\u00e9 tal?",
                             "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440",
                             "\u4f60\u597d\uff0c\u4e16\u754c\u3002",
                             "\u3053\u3093\u306b\u3061\u306f\u4e16\u754c",
                             "\uc548\ub155\ud558\uc138\uc694 \uc138\uacc4",
                             "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645",
                             "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd",
                             "\u0928\u092e\u0938\u094d\u0924\u0947",
                             "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01",
                             "\u03b1\u03b2\u03b3 \u2200x \u2203y: x \u2264 y \u21d2 x\u00b2 \u2208 \u211d",
                             "\U0001F600\U0001F680",
                             "\U0001F468\u200D\U0001F469\u200D\U0001F467 family",
                             "\U0001F1E9\U0001F1EA flags",
                             "\u00a0no-break\u2003em\u200bzero",
                             "\u2018quotes\u2019 \u201cdouble\u201d \u2013 \u2014 \u2026",
                             "\ufb01ligature \uff21\uff22\uff23 fullwidth",
                             "\u00bd + \u00bc = \u00be, 10\u207b\u00b3, H\u2082O",
                             "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                             "!!!???...---===***###",
                             "((([[[{{{}}}]]])))",
                             "antidisestablishmentarianism",
                             "The quick brown fox jumps over the lazy dog.",
                             "MiXeD CaSe WoRdS 4U2C",
                             "\x7f control \x01 characters \x1b[0m",
                             "0b1010 0xDEADBEEF 0o755 1_000_000"}) // 59
        texts.push_back(text);
    return texts;
}

Outcome check_tokenizers(const Subject& subject) {
    if (auto outcome = missing_files(subject)) return *outcome;
    const ModelFiles &student = subject.models.student, &scorer = subject.models.scorer();
    for (const ModelFiles* model : {&student, &scorer}) {
        if (model->tokenizer_fault) return fail(*model->tokenizer_fault);
    }
    const text::Tokenizer &own = *student.tokenizer, &other = *scorer.tokenizer;
    const auto common = teacher::common_vocabulary(own, student.config->vocab, other, scorer.config->vocab);
    if (!common) return fail(common.error());
    const auto probes = probe_texts();
    for (const std::string& probe : probes) {
        if (own.encode(probe) == other.encode(probe)) continue;
        return fail("the vocabularies are the same, but " + stillroom::quoted(probe) + " becomes " +
                        tokens_text(own, own.encode(probe)) + " for the student and " +
                        tokens_text(other, other.encode(probe)) + " for the teacher",
                    {{"choose a teacher with the student's tokenizer", "teacher.model", ""}});
    }
    std::string evidence = "same ids for " + std::to_string(probes.size()) + " probe strings; " +
                           std::to_string(*common) + " tokens; the student's head has " +
                           std::to_string(student.config->vocab) + " rows, " +
                           std::to_string(padding_rows(student)) + " of them padding";
    if (subject.models.teacher) {
        evidence += ", the teacher's " + std::to_string(scorer.config->vocab) + ", " +
                    std::to_string(padding_rows(scorer)) + " of them padding";
    } else {
        evidence += "; the teacher is the student";
    }
    return pass(evidence);
}

Outcome check_special_tokens(const Subject& subject) {
    const ModelFiles& student = subject.models.student;
    if (auto outcome = missing_files(subject)) return *outcome;
    if (student.tokenizer_fault) return skip("the student has no tokenizer: see PF04");
    const text::Tokenizer& tokenizer = *student.tokenizer;
    const std::set<int64_t> ends(student.eos_ids.begin(), student.eos_ids.end());
    if (ends.empty())
        return fail("the student names no end token: no answer could end",
                    {{"add eos_token_id to its generation_config.json", "", ""}});
    for (const int64_t id : ends) {
        if (id >= tokenizer.size() || !tokenizer.is_known(text::TokenId(id)))
            return fail("end token " + std::to_string(id) + " is no token of the tokenizer");
    }
    std::vector<std::string> notes{"end " + ids_text(student.eos_ids)}, doubts;
    if (subject.models.teacher && subject.models.teacher->config) {
        const auto& other = subject.models.teacher->eos_ids;
        const bool shared =
            std::any_of(other.begin(), other.end(), [&](int64_t id) { return ends.contains(id); });
        if (!shared)
            return fail("the student ends with " + ids_text(student.eos_ids) + ", the teacher with " +
                            ids_text(other) + ": the teacher never wants what ends an answer",
                        {{"choose a teacher that ends as the student does", "teacher.model", ""}});
        if (std::set<int64_t>(other.begin(), other.end()) != ends)
            doubts.push_back("the teacher also knows other end tokens: " + ids_text(other));
    }
    const auto pad = tokenizer.pad();
    if (pad && ends.contains(*pad)) {
        notes.push_back("pad is an end token, which does no harm: rows are masked by position");
    } else {
        notes.push_back(pad ? "pad " + std::to_string(*pad) : "no pad");
    }
    if (subject.prompts && subject.examples) {
        const auto ids = subject.prompts->student_prompt(subject.examples->examples.front());
        if (!ids) return fail(ids.error());
        const auto bos = tokenizer.bos();
        if (bos && ids->size() > 1 && (*ids)[0] == *bos && (*ids)[1] == *bos)
            return fail("prompts begin with " + quoted(tokenizer.bytes_of(*bos)) + " twice",
                        {{"remove the one or the other from the chat template", "", ""}});
        notes.push_back(bos && ids->front() == *bos
                            ? "prompts begin with one " + quoted(tokenizer.bytes_of(*bos))
                            : "prompts begin with no begin of text");
    }
    // An answer that was ended, longer than what skip_first leaves out.
    train::Sequence ended;
    ended.rollout.ids.assign(size_t(subject.recipe.objective.skip_first) + 2, int32_t(*ends.begin()));
    ended.rollout.finish = rollout::Finish::Eos;
    const auto rows = train::ResponseRows::of({ended}, subject.recipe.rollout, subject.recipe.objective);
    if (rows.weight.front().back() != 1) return fail("the row of the end token is not in the loss");
    notes.push_back("the end token's row is in the loss");
    if (!doubts.empty()) return warn(join(doubts, "; ") + "; " + join(notes, "; "));
    return pass(join(notes, "; "));
}

Outcome check_template(const Subject& subject) {
    if (auto outcome = not_ready(subject)) return *outcome;
    const data::Example& example = subject.examples->examples.front();
    const auto prefixes = subject.prompts->generation_prefixes(example);
    if (!prefixes) return fail(prefixes.error());
    const text::Tokenizer &own = *subject.models.student.tokenizer,
                          &other = *subject.models.scorer().tokenizer;
    const std::string student = tokens_text(own, prefixes->student),
                      teacher = tokens_text(other, prefixes->teacher);
    if (prefixes->student != prefixes->teacher && !subject.is_sft()) {
        const std::string evidence =
            "the student's prompt ends with " + student + ", the teacher's with " + teacher +
            " (data.thinking = " + (subject.recipe.data.thinking ? "true" : "false") +
            ", teacher.thinking = " + (subject.recipe.teacher.thinking ? "true" : "false") + ")";
        if (subject.recipe.teacher.allow_prefix_difference)
            return warn(evidence + "; allowed by teacher.allow_prefix_difference");
        return fail(evidence, {{"let both think alike", "teacher.thinking",
                                subject.recipe.data.thinking ? "true" : "false"},
                               {"accept the difference", "teacher.allow_prefix_difference", "true"}});
    }
    std::string evidence = "both prompts end with " + student;
    const auto prompt = subject.prompts->build(example, false);
    if (!prompt) return fail(prompt.error());
    if (!subject.models.teacher || subject.is_sft() || prompt->teacher_plain_ids == prompt->student_ids)
        return pass(evidence + "; without the context both read the same");
    const auto& plain = prompt->teacher_plain_ids;
    const auto [left, right] =
        std::mismatch(prompt->student_ids.begin(), prompt->student_ids.end(), plain.begin(), plain.end());
    const auto part = [](auto begin, auto end) {
        return std::vector<text::TokenId>(begin, begin + std::min<std::ptrdiff_t>(8, end - begin));
    };
    return warn(evidence + "; but the templates differ from token " +
                    std::to_string(left - prompt->student_ids.begin()) +
                    " on: " + tokens_text(own, part(left, prompt->student_ids.end())) + " for the student, " +
                    tokens_text(other, part(right, plain.end())) + " for the teacher",
                {{"use one chat_template.jinja in both folders", "", ""}});
}

Outcome check_teacher_prompts(const Subject& subject) {
    if (auto outcome = not_ready(subject)) return *outcome;
    const formats::Recipe& recipe = subject.recipe;
    const bool sft = subject.is_sft(), shows = recipe.teacher.context != "none";
    const text::Tokenizer& tokenizer =
        sft ? *subject.models.student.tokenizer : *subject.models.scorer().tokenizer;
    const bool states_answer = recipe.teacher.context == "custom"
                                   ? recipe.teacher.template_text.find("{answer}") != std::string::npos
                                   : recipe.teacher.context == "answer-twice" ||
                                         recipe.teacher.context == "answer-only" ||
                                         recipe.teacher.context == "wrong-answer";
    // As the tokenizer gives a text back: some compose characters.
    const auto spelt = [&](std::string_view text) {
        return tokenizer.decode(tokenizer.encode(trimmed(text), /*parse_special=*/false));
    };
    const auto& examples = subject.examples->examples;
    const auto count = int64_t(std::min(most_prompts, examples.size()));
    int64_t usable = 0, shortened = 0, longest = 0;
    std::map<std::string, int64_t> dropped;
    for (int64_t i = 0; i < count; ++i) {
        if (subject.cancelled()) return skip("cancelled");
        const data::Example& example = examples[size_t(i)];
        const auto prompt = subject.prompts->build(example, /*with_context=*/sft && shows);
        if (!prompt) return fail(prompt.error());
        if (!prompt->dropped.empty()) {
            ++dropped[prompt->dropped];
            continue;
        }
        ++usable;
        shortened += prompt->shortened > 0;
        longest = std::max(longest, int64_t(prompt->teacher_ids.size()));
        const std::string text = tokenizer.decode(prompt->teacher_ids);
        if (text.find(spelt(example.problem)) == std::string::npos)
            return fail(example.where + ": the teacher's prompt does not hold the whole problem");
        if (!states_answer) continue;
        const std::string answer = spelt(
            recipe.teacher.context == "wrong-answer" ? data::wrong_answer(example.answer) : example.answer);
        const auto prefixes = subject.prompts->generation_prefixes(example);
        if (!prefixes) return fail(prefixes.error());
        const size_t at = text.rfind(answer);
        const size_t turn_end = text.size() - tokenizer.decode(prefixes->teacher).size();
        if (at == std::string::npos || at + answer.size() > turn_end)
            return fail(example.where + ": the answer " + stillroom::quoted(answer) +
                        " does not stand inside the teacher's user turn");
    }
    const std::string looked =
        count < int64_t(examples.size())
            ? std::to_string(count) + " of " + counted(int64_t(examples.size()), "prompt") + " looked at"
            : counted(count, "prompt");
    std::vector<std::string> lost;
    for (const auto& [reason, number] : dropped)
        lost.push_back(std::to_string(number) + " dropped: " + reason);
    if (usable == 0)
        return fail(looked + ", none can be used; " + join(lost, "; "),
                    {{"name the columns of the problem, solution and answer", "data.solution", ""},
                     {"show the teacher nothing more", "teacher.context", "none"}});
    const std::string evidence = looked + ", context " + recipe.teacher.context + ", longest " +
                                 std::to_string(longest) + " tokens; problem" +
                                 (states_answer ? " and answer" : "") + " whole in each";
    if (shortened > 0) lost.push_back(std::to_string(shortened) + " solutions are shortened in the middle");
    if (lost.empty()) return pass(evidence);
    return warn(evidence + "; " + join(lost, "; "));
}

} // namespace stillroom::session
