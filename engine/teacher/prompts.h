// SPDX-License-Identifier: GPL-3.0-or-later
// From an example to the token ids that both models read: the student's prompt, the teacher's with its
// context, and the teacher's without the answer-aware part. Prompts are never cut; what does not fit is
// dropped with a reason.
#pragma once

#include "base/result.h"
#include "data/dataset.h"
#include "formats/recipe.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stillroom::teacher {

struct PreparedPrompt {
    int64_t index = 0; // in the data: the sampler's prompt counter
    std::string id, problem, gold;
    std::vector<int32_t> student_ids;       // P_S tokens
    std::vector<int32_t> teacher_ids;       // P_T tokens; as the student's without a context
    std::vector<int32_t> teacher_plain_ids; // the teacher's prompt without solution and answer
    std::vector<int32_t> target_ids;        // sft: the given solution and the end token
    int64_t shortened = 0;                  // characters taken from the middle of the solution to fit
    std::string dropped;                    // why it cannot be used; empty: it can
};

/// One model's side of a prompt: its tokenizer, its template, its length limit.
struct PromptSide {
    const text::Tokenizer* tokenizer = nullptr;
    std::optional<text::ChatTemplate> chat;
    int64_t limit = 0; // prompt tokens at most
};

class PromptBuilder {
public:
    /// `student_context`, `teacher_context`: the models' lengths in tokens. The limits are the recipe's, else
    /// context less max_new. An error: no chat template, or max_new as long as a context. `end_token` closes
    /// sft targets.
    static Result<PromptBuilder> make(const formats::Recipe& recipe, const text::Tokenizer& student,
                                      int64_t student_context, const text::Tokenizer& teacher,
                                      int64_t teacher_context, int64_t end_token);

    /// The prompts of `example`. `with_context` (sft): whether this example's student prompt shows the
    /// context.
    Result<PreparedPrompt> build(const data::Example& example, bool with_context) const;

    /// The student's prompt alone, for evaluations.
    Result<std::vector<int32_t>> student_prompt(const data::Example& example) const;

    /// What both prompts end with, in ids: the student's and the teacher's generation prefix. Equal, unless
    /// the models think differently, which needs the recipe's allow_prefix_difference.
    struct Prefixes {
        std::vector<int32_t> student, teacher;
    };
    Result<Prefixes> generation_prefixes(const data::Example& example) const;

    /// Whether the student's template knows a think part.
    bool thinks() const {
        return student_.chat && student_.chat->source().find("<think>") != std::string::npos;
    }

private:
    struct Privileged {
        std::vector<int32_t> ids;
        int64_t shortened = 0;
        std::string dropped;
    };
    /// The prompt with the context, its solution (and nothing else) shortened by as little as makes it fit.
    Result<Privileged> privileged_prompt(const PromptSide& side, const data::Example& example,
                                         bool thinking) const;

    formats::Recipe recipe_;
    PromptSide student_, teacher_;
    int64_t end_token_ = 0;
};

/// Refuses vocabularies that differ in more than padding ids, naming the first tokens that do; returns
/// V_real, the smaller of the two real counts.
Result<int64_t> common_vocabulary(const text::Tokenizer& student, int64_t student_rows,
                                  const text::Tokenizer& teacher, int64_t teacher_rows);

} // namespace stillroom::teacher
