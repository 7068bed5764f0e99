// SPDX-License-Identifier: GPL-3.0-or-later
// PF17, PF18, PF22: the data sets, the verifier on their answers, what the evaluation can resolve.
#include "base/strings.h"
#include "data/overlap.h"
#include "maths/verdict.h"
#include "session/preflight_checks.h"
#include "stats/planning.h"

#include <algorithm>
#include <chrono>
#include <set>

namespace stillroom::session {

namespace {

std::string places(const std::vector<const data::Example*>& examples) {
    std::vector<std::string> shown;
    for (const data::Example* example : examples) {
        if (shown.size() == 3) {
            shown.push_back("...");
            break;
        }
        shown.push_back(example->where);
    }
    return join(shown, ", ");
}

struct KnownCase {
    const char *prediction, *gold;
    maths::Rule rule;
    maths::Verdict verdict;
};

using maths::Rule;
constexpr auto Equal = maths::Verdict::Equal, Different = maths::Verdict::Different;
// Right and wrong answers as models write them.
constexpr KnownCase known_cases[] = {
    {"so \\boxed{42}.", "42", Rule::BoxedLast, Equal},
    {"so \\boxed{42}.", "43", Rule::BoxedLast, Different},
    {"first \\boxed{1}, no, \\boxed{2}", "2", Rule::BoxedLast, Equal},
    {"the answer is 42", "42", Rule::BoxedLast, Different}, // no box
    {"\\boxed{\\frac{1}{2}}", "0.5", Rule::BoxedLast, Equal},
    {"\\boxed{\\dfrac{3}{4}}", "\\frac34", Rule::BoxedLast, Equal},
    {"\\boxed{1,000}", "1000", Rule::BoxedLast, Equal},
    {"\\boxed{-7}", "7", Rule::BoxedLast, Different},
    {"\\boxed{ 3 }", "3", Rule::BoxedLast, Equal},
    {"\\boxed{\\text{Tuesday}}", "Tuesday", Rule::BoxedLast, Equal},
    {"<think>\\boxed{9}</think> \\boxed{8}", "8", Rule::BoxedLast, Equal},
    {"\\boxed{12", "12", Rule::BoxedLast, Different}, // cut off
    {"She sells 72.\n#### 72", "72", Rule::Gsm8kHash, Equal},
    {"#### $1,250", "1250", Rule::Gsm8kHash, Equal},
    {"#### 18", "81", Rule::Gsm8kHash, Different},
    {"Answer: 17.", "17", Rule::AnswerLine, Equal},
    {"The answer is **5**", "5", Rule::AnswerLine, Equal},
    {"it costs 3 and then 12 dollars", "12", Rule::LastNumber, Equal},
    {"it costs 12 and then 3 dollars", "12", Rule::LastNumber, Different},
    {" 0.25 ", "1/4", Rule::Whole, Equal},
};
static_assert(std::size(known_cases) == 20);

struct GoldReport {
    int64_t total = 0;
    std::vector<const data::Example*> missing, unread;
    double slowest = 0; // seconds
};

GoldReport gold_report(const data::Dataset& set) {
    GoldReport report;
    for (const data::Example& example : set.examples) {
        ++report.total;
        if (trimmed(example.answer).empty()) {
            report.missing.push_back(&example);
            continue;
        }
        const auto started = std::chrono::steady_clock::now();
        if (maths::compare_answers(example.answer, example.answer).verdict != Equal)
            report.unread.push_back(&example);
        report.slowest =
            std::max(report.slowest,
                     std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count());
    }
    return report;
}

} // namespace

Outcome check_data(const Subject& subject) {
    if (!subject.examples) return skip("the data cannot be read: " + subject.examples.error().message());
    const data::Dataset& set = *subject.examples;
    std::vector<const data::Example*> empty;
    for (const data::Example& example : set.examples) {
        if (trimmed(example.problem).empty()) empty.push_back(&example);
    }
    std::set<int64_t> repeated;
    for (const auto& pair : data::duplicates(set)) repeated.insert(pair.right);
    int64_t overlong = 0;
    const size_t looked_at = subject.prompts ? std::min(set.examples.size(), most_prompts) : 0;
    for (size_t i = 0; i < looked_at; ++i) {
        if (subject.cancelled()) return skip("cancelled");
        const auto prompt = subject.prompts->build(set.examples[i], false);
        overlong += prompt && prompt->dropped.find("is longer than") != std::string::npos;
    }
    std::vector<std::string> doubts;
    if (!empty.empty())
        doubts.push_back(counted(int64_t(empty.size()), "empty problem") + " (" + places(empty) + ")");
    if (!repeated.empty()) doubts.push_back(counted(int64_t(repeated.size()), "duplicate prompt"));
    if (overlong > 0) doubts.push_back(counted(overlong, "overlong prompt"));
    std::string evaluated = "no evaluation set";
    if (!subject.questions) {
        doubts.push_back("the evaluation set cannot be read: " + subject.questions.error().message());
    } else if (!subject.questions->examples.empty()) {
        std::vector<const data::Example*> shared;
        std::set<int64_t> seen;
        for (const auto& pair : data::overlap(*subject.questions, set)) {
            if (seen.insert(pair.left).second)
                shared.push_back(&subject.questions->examples[size_t(pair.left)]);
        }
        const std::string name = subject.questions->files.front().filename().string();
        evaluated = "none occurs in " + name;
        if (!shared.empty())
            doubts.push_back(counted(int64_t(shared.size()), "question") + " of " + name +
                             " occur in the training data too (" + places(shared) + ")");
        int64_t near = 0;
        for (const auto& runs : data::shared_runs(*subject.questions, set)) near += !seen.contains(runs.left);
        if (near > 0) {
            doubts.push_back(counted(near, "question") + " of " + name + " share half of their runs of " +
                             std::to_string(data::usual_run) + " words with a training example");
        }
    }
    std::string count = counted(int64_t(set.examples.size()), "example");
    if (looked_at < set.examples.size())
        count += " (" + std::to_string(looked_at) + " of them measured in tokens)";
    if (doubts.empty()) return pass(count + ", no empty, duplicate or overlong prompt; " + evaluated);
    return warn(count + "; " + join(doubts, "; "),
                {{"list what two sets share with `stillroom-cli overlap`, and remove it", "", ""}});
}

Outcome check_verifier(const Subject& subject) {
    for (const KnownCase& known : known_cases) {
        const auto judged = maths::check(known.prediction, known.gold, known.rule);
        if (judged.verdict == known.verdict) continue;
        return fail(std::string("the verifier finds ") + quoted(known.prediction) + " " +
                    maths::to_string(judged.verdict) + " to " + quoted(known.gold) + ", " +
                    maths::to_string(known.verdict) + " is right");
    }
    std::vector<std::string> notes{std::to_string(std::size(known_cases)) + " known cases right"}, doubts;
    const auto look_at = [&](const Result<data::Dataset>& set, const std::string& what) -> int64_t {
        if (!set || set->examples.empty()) return 0;
        const GoldReport report = gold_report(*set);
        notes.push_back(std::to_string(report.total - int64_t(report.missing.size())) + " of " +
                        counted(report.total, what) + " with an answer, slowest " +
                        number_text(report.slowest * 1000) + " ms");
        if (!report.missing.empty()) {
            doubts.push_back(counted(int64_t(report.missing.size()), what) + " without an answer (" +
                             places(report.missing) + ")");
        }
        if (!report.unread.empty()) {
            doubts.push_back(counted(int64_t(report.unread.size()), "answer") +
                             " that the verifier cannot tell equal to themselves (" + places(report.unread) +
                             ")");
        }
        constexpr double limit = 0.5; // seconds; a verdict takes well below a millisecond
        if (report.slowest > limit) doubts.push_back("a verdict took " + number_text(report.slowest) + " s");
        return int64_t(report.missing.size());
    };
    const std::vector<Remedy> remedies{{"name the column of the answers", "data.answer", ""}};
    look_at(subject.examples, "example");
    const bool ungraded = look_at(subject.questions, "question") > 0;
    const std::string evidence = join(doubts, "; ") + (doubts.empty() ? "" : "; ") + join(notes, "; ");
    if (ungraded) return fail(evidence, remedies);
    return doubts.empty() ? pass(evidence) : warn(evidence, remedies);
}

Outcome check_evaluation_budget(const Subject& subject) {
    const auto& evaluation = subject.recipe.evaluation;
    if (evaluation.data.empty()) return skip("no evaluation set");
    if (!subject.questions) return skip("the evaluation set cannot be read");
    const auto questions = int64_t(subject.questions->examples.size());
    if (questions == 0) return warn("the evaluation set is empty");
    // Questions of every difficulty alike: the variance of their true rates is 1/12, of one sample 1/6.
    constexpr stats::Components uniform{1.0 / 12, 1.0 / 6};
    // Of two checkpoints on the same questions, whose rates moved together: only the samples differ.
    constexpr stats::Components together{0, 1.0 / 6};
    const double single =
        stats::smallest_effect(stats::Design::Single, uniform, questions, evaluation.samples);
    const double paired =
        stats::smallest_effect(stats::Design::Paired, together, questions, evaluation.samples);
    const std::string evidence =
        "Smallest resolvable difference with this budget (" + std::to_string(questions) + " questions x " +
        std::to_string(evaluation.samples) + "): " + number_text(single, 2) + " from a fixed number, " +
        number_text(paired, 2) + " between two checkpoints at best";
    constexpr double hoped_for = 0.15; // about what the published recipes gain in a run
    if (paired <= hoped_for) return pass(evidence);
    const auto needed = stats::samples_needed(stats::Design::Paired, together, questions, hoped_for);
    std::vector<Remedy> remedies;
    if (needed)
        remedies.push_back({"more samples a question resolve " + number_text(hoped_for), "evaluation.samples",
                            std::to_string(*needed)});
    return warn(evidence + "; gains are rarely larger than " + number_text(hoped_for), remedies);
}

} // namespace stillroom::session
