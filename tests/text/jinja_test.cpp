// SPDX-License-Identifier: GPL-3.0-or-later
// The Jinja interpreter against jinja2 3.1.6 in Hugging Face's settings (jinja_cases.jsonl: variables in the
// first line, then templates with what jinja2 makes of them), its limits, and its messages.
#include "tests/support/golden.h"
#include "text/jinja.h"

#include <gtest/gtest.h>

namespace stillroom::text {
namespace {

using nlohmann::ordered_json;

Result<std::string> rendered(const std::string& source,
                             const ordered_json& variables = ordered_json::object(),
                             const JinjaLimits& limits = {}) {
    const auto program = JinjaTemplate::parse(source, "test");
    if (!program) return program.error();
    return program->render(variables, limits);
}

std::string message(const std::string& source, const JinjaLimits& limits = {}) {
    const auto text = rendered(source, ordered_json::object(), limits);
    return text ? "rendered: " + *text : text.error().message();
}

TEST(Jinja, renders_as_jinja2_does) {
    std::ifstream stream(test::source_folder() / "tests/text/jinja_cases.jsonl");
    std::string line;
    ASSERT_TRUE(std::getline(stream, line));
    const ordered_json variables = ordered_json::parse(line)["variables"];
    int compared = 0, refused = 0;
    while (std::getline(stream, line)) {
        const ordered_json row = ordered_json::parse(line);
        const auto source = row["template"].get<std::string>();
        const auto text = rendered(source, variables);
        if (row.contains("error")) {
            EXPECT_FALSE(text) << source << "\n-> " << *text << "\njinja2: " << row["error"];
            ++refused;
        } else {
            EXPECT_TRUE(text) << source << "\n" << text.error().message();
            if (text) {
                EXPECT_EQ(*text, row["rendered"].get<std::string>()) << source;
            }
            ++compared;
        }
    }
    EXPECT_EQ(compared, 109);
    EXPECT_EQ(refused, 12);
}

TEST(Jinja, syntax_errors_give_the_line_and_what_was_expected) {
    EXPECT_EQ(message("a\n{{ x"), "test line 2: the tag is not closed, expected }}");
    EXPECT_EQ(message("{% if x %}\n\na"),
              "test line 3: found the end of the template, expected {% endif %} for the {% if %} of line 1");
    EXPECT_EQ(message("\n{{ 1 + }}"), "test line 2: found \"}}\", expected an expression");
    EXPECT_EQ(message("{{ a b }}"), "test line 1: found \"b\", expected an operator or }}");
    EXPECT_EQ(message("{% fro x in y %}{% endfor %}"),
              "test line 1: the statement {% fro %} is not known, nearest: for");
    EXPECT_EQ(message("{% for x y %}"), "test line 1: found \"y\", expected in");
    EXPECT_EQ(message("{% include 'x' %}").find("test line 1: the statement {% include %} is not known"), 0u);
    EXPECT_EQ(message("{{ (1 }}"), "test line 1: found }, which closes nothing");
    EXPECT_EQ(message("{{ 'a }}"), "test line 1: the string is not closed, expected '");
    EXPECT_EQ(message("{% break %}"), "test line 1: found {% break %} outside of a loop");
}

TEST(Jinja, faults_while_rendering_give_the_line) {
    EXPECT_EQ(message("\n\n{{ a.b }}"), "test line 3: 'a' is undefined, so it has no attribute 'b'");
    EXPECT_EQ(message("{{ x | uper }}"), "test line 1: the filter 'uper' is not known, nearest: upper");
    EXPECT_EQ(message("{{ x is strng }}"), "test line 1: the test 'strng' is not known, nearest: string");
    EXPECT_EQ(message("{{ 1 + 'a' }}"), "test line 1: + cannot take int and str");
    EXPECT_EQ(message("{{ 1 // 0 }}"), "test line 1: division by zero");
    EXPECT_EQ(message("{{ 9223372036854775807 + 1 }}"),
              "test line 1: the result of + does not fit into 64 bits");
    EXPECT_EQ(message("{{ f(1) }}"), "test line 1: 'f' is undefined, so it cannot be called");
    EXPECT_EQ(message("{% for x in 5 %}{% endfor %}"), "test line 1: cannot iterate over int");
}

TEST(Jinja, loops_without_end_run_out_of_steps) {
    JinjaLimits limits;
    limits.steps = 100'000;
    const std::string expected = "the template takes more than 100000 steps";
    const std::string loops =
        "{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}";
    EXPECT_NE(message(loops, limits).find(expected), std::string::npos) << message(loops, limits);
    const std::string doubling =
        "{% set ns = namespace(x=[1]) %}{% for i in range(64) %}{% set ns.x = ns.x + ns.x %}{% endfor %}";
    EXPECT_NE(message(doubling, limits).find(expected), std::string::npos) << message(doubling, limits);
    // Shared lists whose elements are 2^40 when walked.
    const std::string shared =
        "{% set ns = namespace(x=1, y=1) %}{% for i in range(40) %}{% set ns.x = [ns.x, ns.x] %}"
        "{% set ns.y = [ns.y, ns.y] %}{% endfor %}{{ ns.x == ns.y }}";
    EXPECT_NE(message(shared, limits).find(expected), std::string::npos) << message(shared, limits);
}

TEST(Jinja, deep_recursion_is_an_error) {
    const auto deep = message("{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}");
    EXPECT_NE(deep.find("nests calls deeper than 500"), std::string::npos) << deep;
    const auto brackets =
        message("{{ " + std::string(100'000, '(') + "1" + std::string(100'000, ')') + " }}");
    EXPECT_NE(brackets.find("nests too deep"), std::string::npos) << brackets;
    const auto nots = message("{{ " + std::string(4 * 50'000, ' ').replace(0, 4, "not ") + "1 }}");
    EXPECT_EQ(nots, "rendered: False");
    std::string many_nots = "{{ ", chain = "{{ 1", ifs, filters = "{{ 'a'";
    for (int i = 0; i < 20'000; ++i) {
        many_nots += "not ";
        chain += " + 1";
        ifs += "{% if 1 %}";
        filters += "|upper";
    }
    EXPECT_NE(message(many_nots + "1 }}").find("nests too deep"), std::string::npos);
    EXPECT_NE(message(chain + " }}").find("the expression is too long"), std::string::npos);
    EXPECT_NE(message(filters + " }}").find("the expression is too long"), std::string::npos);
    EXPECT_NE(message(ifs).find("blocks nest too deep"), std::string::npos);
}

TEST(Jinja, values_that_nest_without_end_are_an_error) {
    const std::string expected = "values nest deeper than 64";
    for (const char* step :
         {"{% set ns.x = [ns.x] %}", "{% set ns.x = {'a': ns.x} %}",
          "{% set y = ns.x %}{% macro m() %}{{ y }}{% endmacro %}{% set ns.x = m %}",
          "{% for y in [ns.x, 1] %}{% if loop.last %}{% set ns.x = loop %}{% endif %}{% endfor %}"}) {
        const auto text = message("{% set ns = namespace(x=1) %}{% for i in range(50000) %}" +
                                  std::string(step) + "{% endfor %}");
        EXPECT_NE(text.find(expected), std::string::npos) << step << "\n" << text;
    }
    // Namespaces may hold one another, even in a circle; they are freed all the same (the address sanitizer
    // looks).
    EXPECT_EQ(
        message(
            "{% set a = namespace() %}{% set b = namespace(a=a) %}{% set a.b = b %}{{ a.b.a.b is defined }}"),
        "rendered: True");
    EXPECT_EQ(message("{% set ns = namespace(x=1) %}{% for i in range(50000) %}{% set ns.x = "
                      "namespace(x=ns.x) %}{% endfor %}ok"),
              "rendered: ok");
}

TEST(Jinja, huge_outputs_are_an_error_before_they_are_made) {
    JinjaLimits limits;
    limits.text_bytes = 1000;
    const std::string expected = "the template makes a text of more than 1000 bytes";
    for (const char* source :
         {"{{ 'a' * 100000000000 }}", "{{ 'a' * 1001 }}", "{% for i in range(1001) %}a{% endfor %}",
          "{% set ns = namespace(x='ab') %}{% for i in range(64) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
          "{{ range(1000)|list|tojson }}", "{{ range(1000)|join(',') }}",
          "{{ ('a' * 999).replace('a', 'bb') }}", "{{ ('a' * 999).replace('', 'b') }}",
          "{{ range(1000)|list }}"}) {
        EXPECT_NE(message(source, limits).find(expected), std::string::npos) << source << "\n"
                                                                             << message(source, limits);
    }
    EXPECT_EQ(message("{{ 'a' * 1000 }}", limits), "rendered: " + std::string(1000, 'a'));
    EXPECT_NE(message("{{ range(1000000000000) }}").find("range has more than 100000 items"),
              std::string::npos);
}

TEST(Jinja, the_date_can_be_given) {
    JinjaLimits limits;
    limits.now = std::tm{};
    limits.now->tm_year = 124;
    limits.now->tm_mon = 6;
    limits.now->tm_mday = 26;
    EXPECT_EQ(message("{{ strftime_now('%d %b %Y') }}", limits), "rendered: 26 Jul 2024");
}

TEST(Jinja, any_cut_of_a_template_is_rendered_or_refused) {
    const std::string source =
        "{%- set ns = namespace(a=[1, 'x\\n', {'k': none}]) -%}{# c #}{% macro f(a, b=2) %}{{ a ~ b|upper }}"
        "{% endmacro %}{% for i in range(3) if i is odd %}{{ f(i)[::-1] }}{% else %}-{% endfor %}"
        "{% raw %}{{{% endraw %}{% if ns.a[2].k is none and not false %}{{ 1.5e3 // 2 }}{% elif x %}{% endif "
        "%}";
    int rendered_ones = 0, refused = 0;
    for (size_t end = 0; end <= source.size(); ++end) {
        const auto text = rendered(source.substr(0, end));
        ++(text ? rendered_ones : refused);
    }
    EXPECT_TRUE(rendered(source)) << message(source);
    EXPECT_EQ(rendered_ones + refused, int(source.size()) + 1);
    EXPECT_GT(refused, rendered_ones);
}

} // namespace
} // namespace stillroom::text
