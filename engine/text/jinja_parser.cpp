// SPDX-License-Identifier: GPL-3.0-or-later
// Statements of templates.
#include "text/jinja_parser.h"

#include "base/strings.h"

#include <algorithm>
#include <initializer_list>

namespace stillroom::text::jinja {

namespace {

using Kind = Token::Kind;

constexpr int deepest_blocks = 40;
constexpr size_t largest_source = size_t{1} << 20;

const std::vector<std::string> known_statements = {"if",     "for",        "set",   "macro",
                                                   "filter", "generation", "break", "continue"};

class Statements {
public:
    explicit Statements(TokenReader& reader) : reader_(reader) {}

    // Up to a tag of one of the names in `ends`, whose "{%" and name are taken; `ended_by` gets the name.
    Body body(std::initializer_list<std::string_view> ends, const Token& opened_by, std::string& ended_by) {
        if (++depth_ > deepest_blocks) reader_.fail("blocks nest too deep");
        Body statements;
        for (;;) {
            if (reader_.next_is(Kind::End)) {
                if (ends.size() == 0) break;
                reader_.fail("found the end of the template, expected {% " + std::string(*(ends.end() - 1)) +
                             " %} for the {% " + opened_by.text + " %} of line " +
                             std::to_string(opened_by.line));
            }
            if (reader_.next_is(Kind::Text)) {
                Statement text;
                text.line = reader_.peek().line;
                text.text = reader_.take().text;
                statements.push_back(std::move(text));
            } else if (reader_.next_is(Kind::OutputBegin)) {
                reader_.take();
                Statement output = start(Statement::Kind::Output);
                output.value = parsed_expression(reader_, true, true);
                if (!reader_.next_is(Kind::OutputEnd)) reader_.unexpected("an operator or }}");
                reader_.take();
                statements.push_back(std::move(output));
            } else {
                reader_.take(); // {%
                if (!reader_.next_is(Kind::Name)) reader_.unexpected("the name of a statement");
                if (std::ranges::find(ends, reader_.peek().text) != ends.end()) {
                    ended_by = reader_.take().text;
                    break;
                }
                statements.push_back(statement());
            }
        }
        --depth_;
        return statements;
    }

private:
    Statement start(Statement::Kind kind) const {
        Statement statement;
        statement.kind = kind;
        statement.line = reader_.peek().line;
        return statement;
    }
    void end_tag() {
        if (!reader_.next_is(Kind::BlockEnd)) reader_.unexpected("%}");
        reader_.take();
    }
    Body body_until(std::string_view end, const Token& opened_by) {
        std::string ended_by;
        Body statements = body({end}, opened_by, ended_by);
        end_tag();
        return statements;
    }

    Statement statement() {
        const Token tag = reader_.peek();
        const std::string& name = tag.text;
        if (name == "if") return if_statement();
        if (name == "for") return for_statement();
        if (name == "set") return set_statement();
        if (name == "macro") return macro_statement();
        if (name == "break" || name == "continue") {
            if (loops_ == 0) reader_.fail("found {% " + name + " %} outside of a loop");
            Statement leave = start(name == "break" ? Statement::Kind::Break : Statement::Kind::Continue);
            reader_.take();
            end_tag();
            return leave;
        }
        if (name == "filter") {
            Statement filter = start(Statement::Kind::Filter);
            reader_.take();
            filter.value = parsed_filters(reader_);
            end_tag();
            filter.body = body_until("endfilter", tag);
            return filter;
        }
        if (name == "generation") { // marks what the assistant wrote; the text is the same
            Statement group = start(Statement::Kind::Group);
            reader_.take();
            end_tag();
            group.body = body_until("endgeneration", tag);
            return group;
        }
        const std::string close = nearest(name, known_statements);
        reader_.fail(
            "the statement {% " + name + " %} is not known" +
            (close.empty() ? ", expected one of " + join(known_statements, ", ") : ", nearest: " + close));
    }

    Statement if_statement() {
        const Token tag = reader_.peek();
        Statement statement = start(Statement::Kind::If);
        std::string ended_by = "if";
        reader_.take();
        while (ended_by != "endif") {
            Branch branch;
            if (ended_by != "else") branch.condition = parsed_expression(reader_, true, true);
            end_tag();
            branch.body = ended_by == "else" ? body({"endif"}, tag, ended_by)
                                             : body({"elif", "else", "endif"}, tag, ended_by);
            statement.branches.push_back(std::move(branch));
        }
        end_tag();
        return statement;
    }

    std::vector<std::string> target_names(const char* what) {
        std::vector<std::string> names;
        const bool bracketed = reader_.accept_operator("(");
        do {
            if (reader_.next_is_operator(")") || reader_.next_is_operator("="))
                break; // a comma may end the list
            names.push_back(reader_.expect_name(what));
        } while (reader_.accept_operator(","));
        if (bracketed) reader_.expect_operator(")");
        if (names.empty()) reader_.unexpected(what);
        return names;
    }

    Statement for_statement() {
        const Token tag = reader_.peek();
        Statement statement = start(Statement::Kind::For);
        reader_.take();
        statement.names = target_names("the name of a loop variable");
        if (!reader_.accept_name("in")) reader_.unexpected("in");
        statement.value = parsed_expression(reader_, false, true);
        if (reader_.accept_name("if")) statement.condition = parsed_expression(reader_);
        if (reader_.next_is_name("recursive")) reader_.fail("recursive loops are not supported");
        end_tag();
        std::string ended_by;
        ++loops_;
        statement.body = body({"else", "endfor"}, tag, ended_by);
        --loops_;
        end_tag();
        if (ended_by == "else") statement.otherwise = body_until("endfor", tag);
        return statement;
    }

    Statement set_statement() {
        const Token tag = reader_.peek();
        Statement statement = start(Statement::Kind::Set);
        reader_.take();
        if (reader_.peek(1).kind == Kind::Operator && reader_.peek(1).text == ".") {
            statement.kind = Statement::Kind::SetMember;
            statement.names.push_back(reader_.expect_name("the name of a namespace"));
            reader_.take();
            statement.names.push_back(reader_.expect_name("the name of a member"));
        } else {
            statement.names = target_names("the name of a variable");
        }
        if (reader_.accept_operator("=")) {
            statement.value = parsed_expression(reader_, true, true);
            end_tag();
            return statement;
        }
        if (statement.kind == Statement::Kind::SetMember || statement.names.size() != 1)
            reader_.unexpected("\"=\"");
        statement.kind = Statement::Kind::SetBlock;
        if (reader_.accept_operator("|")) statement.value = parsed_filters(reader_);
        if (!reader_.next_is(Kind::BlockEnd)) reader_.unexpected("\"=\" or %}");
        end_tag();
        statement.body = body_until("endset", tag);
        return statement;
    }

    Statement macro_statement() {
        const Token tag = reader_.peek();
        Statement statement = start(Statement::Kind::Macro);
        reader_.take();
        statement.text = reader_.expect_name("the name of a macro");
        reader_.expect_operator("(");
        while (!reader_.next_is_operator(")")) {
            statement.names.push_back(reader_.expect_name("the name of a parameter"));
            const bool has_default = reader_.accept_operator("=");
            if (!has_default && !statement.defaults.empty() && statement.defaults.back() != nullptr) {
                reader_.fail("a parameter without a default follows one that has one");
            }
            statement.defaults.push_back(has_default ? parsed_expression(reader_) : nullptr);
            if (!reader_.accept_operator(",")) break;
        }
        reader_.expect_operator(")");
        end_tag();
        const int outer_loops = std::exchange(loops_, 0);
        statement.body = body_until("endmacro", tag);
        loops_ = outer_loops;
        return statement;
    }

    TokenReader& reader_;
    int depth_ = 0, loops_ = 0;
};

} // namespace

Program parsed(const std::string& source, const std::string& where) {
    if (source.size() > largest_source) {
        throw ErrorException({"the template has " + std::to_string(source.size()) +
                                  " bytes, expected at most " + std::to_string(largest_source),
                              where});
    }
    if (!is_utf8(source)) throw ErrorException({"the template is not UTF-8", where});
    TokenReader reader(tokens_of(source, where), where);
    std::string ended_by;
    Program program{where, {}};
    program.body = Statements(reader).body({}, Token{}, ended_by);
    return program;
}

} // namespace stillroom::text::jinja
