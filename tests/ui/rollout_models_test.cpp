// SPDX-License-Identifier: GPL-3.0-or-later
// The models under the rollout inspector, without a window.
#include "tests/ui/rollout_examples.h"
#include "ui/models/candidates_model.h"
#include "ui/models/rollouts_filter.h"
#include "ui/models/token_json.h"
#include "ui/models/token_layout.h"
#include "ui/models/token_prompts.h"
#include "ui/models/token_search.h"
#include "ui/models/token_table_model.h"
#include "ui/models/token_values.h"

#include <QAbstractItemModelTester>
#include <QFontDatabase>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTest>
#include <set>

using namespace stillroom;
using namespace stillroom::ui;
using Kind = TokenSegment::Kind;

namespace {

TokenTexts texts_of(const std::string& text) {
    const auto tokenizer = sample_tokenizer();
    return token_texts(tokenizer->encode(text), tokenizer.get());
}

QList<Kind> kinds_of(const TokenTexts& texts, size_t token) {
    QList<Kind> kinds;
    for (const TokenSegment& segment : texts.segments_of(token)) kinds << segment.kind;
    return kinds;
}

/// All segments in order, as a reader sees them.
QString shown(const TokenTexts& texts) {
    QString text;
    for (const TokenSegment& segment : texts.segments) {
        if (segment.kind == Kind::Bytes || segment.kind == Kind::Named) {
            text += '<' + segment.text + '>';
        } else {
            text += segment.text;
        }
    }
    return text;
}

TokenRolloutPtr opened(const ExampleRollout& example) {
    return open_token_rollout(1, example.record, sample_tokenizer());
}

} // namespace

class RolloutModelsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void tokens_give_back_exactly_the_bytes_of_any_text_data();
    void tokens_give_back_exactly_the_bytes_of_any_text();
    void a_character_of_several_tokens_is_bytes_and_then_the_character();
    void bytes_that_are_no_character_stay_bytes();
    void invisible_characters_have_names();
    void special_tokens_are_chips_of_their_name();
    void ids_without_a_vocabulary_are_numbers();
    void every_token_has_its_place_in_lines_no_wider_than_asked();
    void a_word_stays_whole_where_it_fits();
    void thousands_of_tokens_of_anything_are_laid_out();
    void worst_tokens_are_those_with_the_largest_values();
    void masked_tokens_are_not_among_the_worst();
    void modes_show_the_recorded_numbers();
    void scales_and_histograms_count_every_token();
    void candidates_are_the_union_of_both_lists_and_the_sampled_token();
    void candidate_sums_agree_with_the_exact_kl();
    void candidate_sums_that_cannot_be_right_are_found();
    void search_finds_text_across_tokens_patterns_ids_and_values();
    void prompts_differ_by_what_was_inserted();
    void equal_prompts_have_one_common_part();
    void filter_words_become_conditions();
    void json_has_every_recorded_number();
    void tables_hold_what_models_must();
    void the_answer_is_found_in_its_box();
};

void RolloutModelsTest::tokens_give_back_exactly_the_bytes_of_any_text_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::newRow("emoji") << QByteArray("so 😀 and 👩‍👩‍👧 done");
    QTest::newRow("combining marks") << QByteArray("e\xcc\x81 a\xcc\x88\xcc\x81");
    QTest::newRow("right to left") << QByteArray("שלום مرحبا 12");
    QTest::newRow("long run") << QByteArray(4000, 'a');
    QTest::newRow("invalid UTF-8") << QByteArray("ab\xff\xfe\xc3(\xe2\x96 x\xed\xa0\x80");
    QTest::newRow("ends within a character") << QByteArray("x\xf0\x9f\x98");
    QTest::newRow("empty") << QByteArray();
    QTest::newRow("line ends") << QByteArray(10000, '\n');
}

void RolloutModelsTest::tokens_give_back_exactly_the_bytes_of_any_text() {
    QFETCH(QByteArray, text);
    const TokenTexts texts = texts_of(text.toStdString());
    QCOMPARE(QByteArray::fromStdString(texts.bytes), text);
    std::string joined;
    for (size_t token = 0; token < texts.size(); ++token) {
        joined += texts.bytes_of(token);
        QVERIFY(!texts.segments_of(token).empty());
    }
    QCOMPARE(QByteArray::fromStdString(joined), text);
    // Every byte is shown once: as text, or in hexadecimal within a chip.
    qsizetype bytes = 0;
    for (const TokenSegment& segment : texts.segments) {
        if (segment.kind == Kind::Bytes) bytes += (segment.text.size() + 1) / 3;
        if (segment.kind == Kind::Text || segment.kind == Kind::Space || segment.kind == Kind::Newline)
            bytes += segment.text.toUtf8().size();
        if (segment.kind == Kind::Named) bytes += 3; // of these texts: ZWJ alone, E2 80 8D
    }
    QCOMPARE(bytes, text.size());
}

void RolloutModelsTest::a_character_of_several_tokens_is_bytes_and_then_the_character() {
    const TokenTexts texts = texts_of("a😀b");
    QCOMPARE(texts.size(), size_t(6)); // the sample's vocabulary has single bytes alone for it
    for (size_t token = 1; token < 4; ++token) QCOMPARE(kinds_of(texts, token), QList<Kind>{Kind::Bytes});
    QCOMPARE(kinds_of(texts, 4), (QList<Kind>{Kind::Bytes, Kind::Completed}));
    QCOMPARE(shown(texts), QString("a<F0><9F><98><80>😀b"));
    QCOMPARE(texts.shared.size(), size_t(1));
    QCOMPARE(texts.shared[0], (std::pair<size_t, size_t>(1, 4)));
}

void RolloutModelsTest::bytes_that_are_no_character_stay_bytes() {
    QCOMPARE(shown(texts_of("a\xff z")), QString("a<FF> z"));
    QCOMPARE(shown(texts_of("\xc3(")), QString("<C3>("));
    // A surrogate, an overlong form, and a character cut off at the end.
    QCOMPARE(shown(texts_of("\xed\xa0\x80")).count("<"), 3);
    QCOMPARE(shown(texts_of("\xc0\xaf")).count("<"), 2);
    const TokenTexts cut = texts_of("\xf0\x9f\x98");
    QVERIFY(cut.shared.empty());
    QCOMPARE(shown(cut), QString("<F0><9F><98>"));
}

void RolloutModelsTest::invisible_characters_have_names() {
    // Tokens of single bytes: the completed character is named.
    const TokenTexts texts = texts_of("\xc2\xa0");
    QCOMPARE(texts.segments.back().kind, Kind::Completed);
    QCOMPARE(texts.segments.back().text, QString("NBSP"));
    QCOMPARE(texts_of("\x01").segments.back().text, QString("U+0001"));
    QCOMPARE(texts_of("\t").segments.back().kind, Kind::Tab);
    QCOMPARE(texts_of("a\n").segments.back().kind, Kind::Newline);
}

void RolloutModelsTest::special_tokens_are_chips_of_their_name() {
    const TokenTexts texts = texts_of("<|im_start|>user<|im_end|>");
    QCOMPARE(texts.segments.front().kind, Kind::Special);
    QCOMPARE(texts.segments.front().text, QString("<|im_start|>"));
    QCOMPARE(texts.special.front(), SpecialRole::Turn);
    QCOMPARE(texts.special.back(), SpecialRole::End);
}

void RolloutModelsTest::ids_without_a_vocabulary_are_numbers() {
    const TokenTexts texts = token_texts({7, 151700}, nullptr);
    QCOMPARE(texts.segments[1].kind, Kind::Unknown);
    QCOMPARE(texts.segments[1].text, QString("id 151700"));
    QVERIFY(texts.bytes.empty());
    const auto tokenizer = sample_tokenizer();
    QCOMPARE(token_texts({999999}, tokenizer.get()).segments[0].kind, Kind::Unknown);
}

void RolloutModelsTest::every_token_has_its_place_in_lines_no_wider_than_asked() {
    const QFont font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
    const std::string text =
        "First 12 and then\n😀 a" + std::string(400, 'x') + " end" + std::string(300, ' ') + ".";
    const TokenTexts texts = texts_of(text);
    for (const double width : {60.0, 200.0, 700.0}) {
        const TokenLayout layout = lay_out(texts, font, width, 50);
        QVERIFY(layout.lines() > 1);
        std::vector<qsizetype> covered(texts.segments.size(), 0);
        for (size_t line = 0; line < layout.lines(); ++line) {
            float right = 0;
            for (size_t run = layout.first_run_of_line[line]; run < layout.first_run_of_line[line + 1];
                 ++run) {
                const TokenRun& one = layout.runs[run];
                QVERIFY(one.x >= right - 0.01f);
                right = one.x + one.width;
                covered[one.segment] += one.length;
                const double middle = double(one.x + one.width / 2);
                QCOMPARE(layout.token_at(line, middle), std::optional<size_t>(one.token));
            }
            const TokenRun& last = layout.runs[layout.first_run_of_line[line + 1] - 1];
            const bool ends_line = texts.segments[last.segment].kind == Kind::Newline;
            QVERIFY2(double(right) <= width + 0.5 || ends_line, qPrintable(QString::number(double(right))));
        }
        for (size_t i = 0; i < covered.size(); ++i) QCOMPARE(covered[i], texts.segments[i].text.size());
        for (size_t token = 0; token < texts.size(); ++token) {
            const TokenRun& first = layout.runs[layout.first_run_of_token[token]];
            QCOMPARE(size_t(first.token), token);
            const size_t line = layout.line_of(token), run = layout.first_run_of_token[token];
            QVERIFY(run >= layout.first_run_of_line[line] && run < layout.first_run_of_line[line + 1]);
        }
        QVERIFY(double(layout.end_x) + 50 <= width + 0.5 || layout.end_x == 0);
    }
}

void RolloutModelsTest::a_word_stays_whole_where_it_fits() {
    const QFont font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
    const double letter = QFontMetricsF(font).horizontalAdvance('0');
    const TokenTexts texts = texts_of("12345 67890");
    const TokenLayout layout = lay_out(texts, font, 8.5 * letter, 0);
    // The digits are tokens of their own; the second number goes to the second line with all of them.
    QCOMPARE(layout.lines(), size_t(2));
    for (size_t token = 0; token < texts.size(); ++token)
        QCOMPARE(layout.line_of(token), texts.offset[token] < 5 ? size_t(0) : size_t(1));
}

void RolloutModelsTest::thousands_of_tokens_of_anything_are_laid_out() {
    const QFont font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
    std::mt19937 random(5);
    std::vector<int32_t> ids(32768);
    for (int32_t& id : ids) id = int32_t(random() % 330); // the last ten have no token
    const auto tokenizer = sample_tokenizer();
    const TokenTexts texts = token_texts(ids, tokenizer.get());
    const TokenLayout layout = lay_out(texts, font, 600, 80);
    QCOMPARE(layout.first_run_of_token.size(), ids.size() + 1);
    QCOMPARE(layout.line_of(ids.size() - 1), layout.lines() - 1 - (layout.end_x == 0 ? 1 : 0));
    QCOMPARE(lay_out(texts_of(""), font, 600, 80).lines(), size_t(1));
    QCOMPARE(lay_out(texts_of(std::string(10000, '\n')), font, 600, 80).lines(), size_t(10001));
}

void RolloutModelsTest::worst_tokens_are_those_with_the_largest_values() {
    const ExampleRollout example =
        example_rollout(sample_tokenizer()->encode("12+30=42 and so on, again and again: "
                                                   "12+30=42, which is more than fifty"),
                        3);
    const auto& tokens = example.record.tokens;
    std::vector<size_t> order(tokens.ids.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return tokens.kl[a] > tokens.kl[b]; });
    const auto worst = worst_tokens(tokens, Ranking::Kl);
    QVERIFY(worst.size() <= worst_kept);
    for (size_t i = 0; i < worst.size(); ++i) {
        QCOMPARE(worst[i].token, order[i]);
        QCOMPARE(worst[i].value, tokens.kl[order[i]]);
    }
    const auto gap = worst_tokens(tokens, Ranking::Gap);
    for (size_t i = 1; i < gap.size(); ++i) QVERIFY(std::abs(gap[i - 1].value) >= std::abs(gap[i].value));
    const auto gain = worst_tokens(tokens, Ranking::Gain);
    for (size_t i = 1; i < gain.size(); ++i) QVERIFY(gain[i - 1].value <= gain[i].value);
    QVERIFY(worst_tokens(tokens, Ranking::Clipped).empty()); // nothing was clipped
}

void RolloutModelsTest::masked_tokens_are_not_among_the_worst() {
    ExampleRollout example = example_rollout({1, 2, 3, 4, 5, 6}, 4);
    const size_t first = worst_tokens(example.record.tokens, Ranking::Kl)[0].token;
    example.record.tokens.flags[first] |= masked_flag;
    const auto worst = worst_tokens(example.record.tokens, Ranking::Kl);
    QCOMPARE(worst.size(), size_t(5));
    for (const WorstToken& one : worst) QVERIFY(one.token != first);
}

void RolloutModelsTest::modes_show_the_recorded_numbers() {
    ExampleRollout example = example_rollout({10, 20, 30}, 5);
    record::TokenRecord& tokens = example.record.tokens;
    tokens.clipped = {0.f, tokens.kl[1] / 4, std::nanf("")};
    tokens.overlap[2] = no_overlap;
    QCOMPARE(token_values(tokens, {ColourMode::Kl}), tokens.kl);
    QCOMPARE(token_values(tokens, {ColourMode::Gap})[1],
             tokens.student_logprob[1] - tokens.teacher_logprob[1]);
    QCOMPARE(token_values(tokens, {ColourMode::Gain})[1],
             tokens.teacher_logprob[1] - tokens.teacher_plain_logprob[1]);
    const auto clipped = token_values(tokens, {ColourMode::Clipped});
    QCOMPARE(clipped[0], 0.f);
    QCOMPARE(clipped[1], 0.25f);
    QVERIFY(std::isnan(clipped[2]));
    const auto overlap = token_values(tokens, {ColourMode::Overlap});
    QCOMPARE(overlap[0], 16.f - float(tokens.overlap[0]));
    QVERIFY(std::isnan(overlap[2]));
    ColourChoice difference{ColourMode::Entropy, ColourChoice::Entropy::Difference};
    QCOMPARE(token_values(tokens, difference)[0], tokens.student_entropy[0] - tokens.teacher_entropy[0]);
    tokens.teacher_plain_logprob.clear();
    const auto gain = token_values(tokens, {ColourMode::Gain});
    QVERIFY(why_missing(gain, {ColourMode::Gain}).contains("score_without_answer"));
    QVERIFY(why_missing(token_values(tokens, {ColourMode::Kl}), {ColourMode::Kl}).isEmpty());
}

void RolloutModelsTest::scales_and_histograms_count_every_token() {
    std::vector<float> values;
    for (int i = 1; i <= 200; ++i) values.push_back(float(i) / 50); // to 4 nats
    values.push_back(std::nanf(""));
    const ColourChoice kl{ColourMode::Kl};
    const Histogram histogram = histogram_of(values, kl, 2);
    QCOMPARE(histogram.saturated, 101); // 2.00 to 4.00
    QCOMPARE(histogram.missing, 1);
    QCOMPARE(std::accumulate(histogram.count.begin(), histogram.count.end(), 0), 200);
    QCOMPARE(percentile_scale(values, kl), double(198.f / 50)); // the 198th of 200
    QCOMPARE(place_of(1, kl, 2), 0.5f);
    QCOMPARE(place_of(-8, {ColourMode::Gap}, 4), -1.f);
    QCOMPARE(percentile_scale({0, 0}, kl), fixed_scale(kl));
}

void RolloutModelsTest::candidates_are_the_union_of_both_lists_and_the_sampled_token() {
    const ExampleRollout example = example_rollout({319, 5, 318, 7}, 6);
    const TokenRolloutPtr rollout = opened(example);
    for (size_t token = 0; token < 4; ++token) {
        const auto candidates = candidates_of(*rollout, token);
        const auto of_student = best_ids(example.at[token].student),
                   of_teacher = best_ids(example.at[token].teacher);
        std::set<int32_t> expected(of_student.begin(), of_student.end()), found;
        expected.insert(of_teacher.begin(), of_teacher.end());
        expected.insert(example.record.tokens.ids[token]);
        double previous = 1;
        for (const Candidate& one : candidates) {
            found.insert(one.id);
            QVERIFY(std::abs(one.student() - std::exp(example.at[token].student[size_t(one.id)])) < 1e-6);
            QVERIFY(std::abs(one.teacher() - std::exp(example.at[token].teacher[size_t(one.id)])) < 1e-6);
            QCOMPARE(one.sampled, one.id == example.record.tokens.ids[token]);
            QCOMPARE(one.student_rank > 0,
                     std::find(of_student.begin(), of_student.end(), one.id) != of_student.end());
            if (one.teacher_rank) QCOMPARE(of_teacher[size_t(one.teacher_rank) - 1], one.id);
            const double likelier = std::max(one.student(), one.teacher());
            QVERIFY(likelier <= previous + 1e-9);
            previous = likelier;
        }
        QCOMPARE(found, expected);
        QCOMPARE(candidates.size(), expected.size());
    }
}

void RolloutModelsTest::candidate_sums_agree_with_the_exact_kl() {
    // Through the store, so that every number is a 16-bit float.
    const std::vector<int32_t> ids{1, 200, 44, 3, 99, 310};
    const ExampleRollout example = example_rollout(ids, 7);
    RolloutRun run;
    run.add(example.record);
    const TokenRolloutPtr rollout = open_token_rollout(1, run.read().rollout(1).value(), sample_tokenizer());
    for (size_t token = 0; token < ids.size(); ++token) {
        const auto candidates = candidates_of(*rollout, token);
        const CandidateSums sums = sums_of(*rollout, token, candidates);
        const Distributions& both = example.at[token];
        std::set<int32_t> rows;
        for (const Candidate& one : candidates) rows.insert(one.id);
        double student_rest = 0, teacher_rest = 0, rest_kl = 0;
        for (int32_t v = 0; v < 320; ++v) {
            if (rows.contains(v)) continue;
            const double p = std::exp(both.student[size_t(v)]);
            student_rest += p;
            teacher_rest += std::exp(both.teacher[size_t(v)]);
            rest_kl += p * (both.student[size_t(v)] - both.teacher[size_t(v)]);
        }
        // Tails of about a tenth, of sixteen values within 1/2048 of their size.
        QVERIFY(std::abs(sums.rest_student - student_rest) < 2e-3);
        QVERIFY(std::abs(sums.rest_teacher - teacher_rest) < 2e-3);
        const double hidden = rest_kl - student_rest * std::log(student_rest / teacher_rest);
        QVERIFY(hidden >= 0);
        QVERIFY2(
            std::abs(sums.difference() - hidden) <= sums.rounding,
            qPrintable(
                QString("%1 against %2 within %3").arg(sums.difference()).arg(hidden).arg(sums.rounding)));
        QVERIFY(sums.rounding < 0.02);
    }
}

void RolloutModelsTest::candidate_sums_that_cannot_be_right_are_found() {
    ExampleRollout example = example_rollout({1, 2}, 8);
    example.record.tokens.kl[1] -= 0.5f; // less than the rows alone
    const TokenRolloutPtr rollout = opened(example);
    const CandidateSums sums = sums_of(*rollout, 1, candidates_of(*rollout, 1));
    QVERIFY(!sums.agrees());
    QVERIFY(sums.difference() < -0.3);
}

void RolloutModelsTest::search_finds_text_across_tokens_patterns_ids_and_values() {
    const auto tokenizer = sample_tokenizer();
    const ExampleRollout example = example_rollout(tokenizer->encode("12+30=42\n42-2=40\nx😀 THE end"), 9);
    const TokenRolloutPtr rollout = opened(example);
    const auto bytes_of = [&](const TokenRange& hit) {
        const TokenTexts& texts = rollout->response;
        return QByteArray::fromStdString(texts.bytes.substr(
            texts.offset[hit.first], texts.offset[hit.second + 1] - texts.offset[hit.first]));
    };
    const auto fortytwo = search_tokens(*rollout, "42");
    QCOMPARE(fortytwo.hits.size(), size_t(2));
    for (const TokenRange& hit : fortytwo.hits) QCOMPARE(bytes_of(hit), QByteArray("42"));
    QCOMPARE(search_tokens(*rollout, "the").hits.size(), size_t(1));
    QCOMPARE(search_tokens(*rollout, QString("😀")).hits,
             (std::vector<TokenRange>{rollout->response.shared[0]}));
    const auto lines = search_tokens(*rollout, "/^\\d+[-+]\\d+=/");
    QCOMPARE(lines.hits.size(), size_t(2));
    QCOMPARE(bytes_of(lines.hits[1]), QByteArray("42-2="));
    QVERIFY(bytes_of(search_tokens(*rollout, "/the \\w+/").hits.at(0)).endsWith("THE end"));
    QVERIFY(search_tokens(*rollout, "/(/").fault.contains("regular expression"));
    const int32_t id = example.record.tokens.ids[3];
    const auto by_id = search_tokens(*rollout, QString("id:%1").arg(id));
    QCOMPARE(by_id.hits.size(),
             size_t(std::count(example.record.tokens.ids.begin(), example.record.tokens.ids.end(), id)));
    QVERIFY(!search_tokens(*rollout, "id:x").fault.isEmpty());
    const auto above = search_tokens(*rollout, "kl>0.3");
    QCOMPARE(above.hits.size(),
             size_t(std::count_if(example.record.tokens.kl.begin(), example.record.tokens.kl.end(),
                                  [](float kl) { return kl > 0.3f; })));
    QVERIFY(!above.hits.empty());
    QVERIFY(search_tokens(*rollout, "nowhere").hits.empty());
}

void RolloutModelsTest::prompts_differ_by_what_was_inserted() {
    const auto tokenizer = sample_tokenizer();
    const auto turn = [&](const std::string& text) {
        return token_texts(
            tokenizer->encode("<|im_start|>user\n" + text + "<|im_end|>\n<|im_start|>assistant\n"),
            tokenizer.get());
    };
    const TokenTexts student = turn("Start with 29."),
                     teacher = turn("Start with 29. [47] Answer: 47, not 147");
    const PromptComparison comparison = compare_prompts(student, teacher, "47");
    // Both sides are covered, in order, once.
    size_t at_student = 0, at_teacher = 0, inserted = 0;
    for (const PromptPart& part : comparison.parts) {
        QCOMPARE(part.student.first, at_student);
        QCOMPARE(part.teacher.first, at_teacher);
        at_student = part.student.second;
        at_teacher = part.teacher.second;
        if (part.in == PromptPart::In::Both) {
            QVERIFY(std::equal(student.ids.begin() + long(part.student.first),
                               student.ids.begin() + long(part.student.second),
                               teacher.ids.begin() + long(part.teacher.first)));
        } else if (part.in == PromptPart::In::Teacher) {
            inserted += part.teacher.second - part.teacher.first;
            QCOMPARE(part.times_stated, size_t(2)); // 147 is another number
        }
    }
    QCOMPARE(at_student, student.size());
    QCOMPARE(at_teacher, teacher.size());
    QCOMPARE(inserted, teacher.size() - student.size());
    QVERIFY2(comparison.headline.contains("twice"), qPrintable(comparison.headline));
    for (const PromptCheck& check : comparison.checks) QVERIFY2(check.good, qPrintable(check.text));

    const TokenTexts other_turn = turn("Start with 29.<|im_end|>\n<|im_start|>user\nAnswer: 47");
    const PromptComparison outside = compare_prompts(student, other_turn, "47");
    QVERIFY(
        std::any_of(outside.checks.begin(), outside.checks.end(), [](const auto& one) { return !one.good; }));
}

void RolloutModelsTest::equal_prompts_have_one_common_part() {
    const TokenTexts prompt = texts_of("Start with 29.");
    const PromptComparison comparison = compare_prompts(prompt, prompt, "47");
    QCOMPARE(comparison.parts.size(), size_t(1));
    QVERIFY(comparison.headline.contains("the same prompt"));
    QVERIFY(compare_prompts(texts_of(""), texts_of(""), "").parts.empty());
}

void RolloutModelsTest::filter_words_become_conditions() {
    const RolloutsFilter parsed =
        parse_rollouts_filter("wrong truncated kl>0.5 len<300 step:3-7 prompt:Ab1 nonsense kl>x step:7-3");
    QCOMPARE(parsed.conditions.verdict, std::string("different"));
    QCOMPARE(parsed.conditions.finish_reason, std::string("length"));
    QCOMPARE(parsed.conditions.first_step, std::optional<int64_t>(3));
    QCOMPARE(parsed.conditions.last_step, std::optional<int64_t>(7));
    QCOMPARE(parsed.conditions.prompt_id, std::string("Ab1"));
    QCOMPARE(parsed.conditions.bounds.size(), size_t(2));
    QVERIFY((parsed.conditions.bounds[0] == record::RolloutBound{record::RolloutOrder::MeanKl, true, 0.5}));
    QVERIFY((parsed.conditions.bounds[1] == record::RolloutBound{record::RolloutOrder::Length, false, 300}));
    QCOMPARE(parsed.unknown, (QStringList{"nonsense", "kl>x", "step:7-3"}));
    QCOMPARE(parsed.words.size(), 6);
    for (const auto& [word, meaning] : rollouts_filter_words())
        QVERIFY2(parse_rollouts_filter(word).unknown.isEmpty(), qPrintable(word));
}

void RolloutModelsTest::json_has_every_recorded_number() {
    ExampleRollout example = example_rollout(sample_tokenizer()->encode("ab😀"), 10);
    example.record.tokens.teacher_plain_logprob[1] = std::nanf("");
    const TokenRolloutPtr rollout = opened(example);
    const QByteArray json = tokens_as_json(*rollout, {1, 3}, {"a run", "42"});
    const QJsonObject object = QJsonDocument::fromJson(json).object();
    QCOMPARE(object["run"].toString(), QString("a run"));
    QCOMPARE(object["seed"].toString(), QString("42"));
    QCOMPARE(object["tokens_from"].toInt(), 1);
    QCOMPARE(object["tokens_to"].toInt(), 3);
    const auto tokens = object["tokens"].toArray();
    QCOMPARE(tokens.size(), 3);
    QCOMPARE(tokens[0].toObject()["kl"].toDouble(), double(example.record.tokens.kl[1]));
    QCOMPARE(tokens[0].toObject()["text"].toString(), QString("b"));
    QVERIFY(tokens[0].toObject()["gain"].isNull());
    QVERIFY(tokens[1].toObject()["text"].isNull());
    QCOMPARE(tokens[1].toObject()["bytes"].toString(), QString("f0"));
    QCOMPARE(tokens[2].toObject()["student_top16"].toArray().size(), 16);
    QCOMPARE(tokens[2].toObject()["student_top16"].toArray()[0].toObject()["student_logprob"].toDouble(),
             double(example.record.top16->student_ids_student[3 * 16]));
}

void RolloutModelsTest::tables_hold_what_models_must() {
    const ExampleRollout example = example_rollout(sample_tokenizer()->encode("ab\n12 😀"), 11);
    const TokenRolloutPtr rollout = opened(example);
    CandidatesModel candidates;
    TokenTableModel table;
    const QAbstractItemModelTester first(&candidates), second(&table);
    candidates.show(rollout, 2);
    table.show(rollout);
    QCOMPARE(size_t(table.rowCount()), rollout->size());
    QCOMPARE(table.index(3, TokenTableModel::Kl).data().toString(),
             QString::number(double(example.record.tokens.kl[3]), 'f', 4));
    QCOMPARE(table.index(3, TokenTableModel::Id).data().toString(),
             QString::number(example.record.tokens.ids[3]));
    candidates.set_entry_clamp(0.001);
    bool clipped = false;
    for (int row = 0; row < candidates.rowCount(); ++row)
        clipped = clipped || !candidates.index(row, CandidatesModel::Clipped).data().toString().isEmpty();
    QVERIFY(clipped);
    candidates.show({}, {});
    QCOMPARE(candidates.rowCount(), 0);
}

void RolloutModelsTest::the_answer_is_found_in_its_box() {
    ExampleRollout example = example_rollout(sample_tokenizer()->encode("5 is it, \\boxed{5}, or 5"), 12);
    const TokenRolloutPtr rollout = opened(example);
    QVERIFY(rollout->answer.has_value());
    const size_t byte = rollout->response.offset[rollout->answer->first];
    QCOMPARE(byte, rollout->response.bytes.find("{5}") + 1);
    example.record.extracted = "77";
    QVERIFY(!opened(example)->answer.has_value());
}

QTEST_MAIN(RolloutModelsTest)
#include "rollout_models_test.moc"
