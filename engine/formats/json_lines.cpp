// SPDX-License-Identifier: GPL-3.0-or-later
#include "formats/json_lines.h"

#include "base/files.h"
#include "base/strings.h"

#include <algorithm>

namespace stillroom::formats {

namespace {

constexpr size_t max_depth = 64;
constexpr size_t max_json_bytes = size_t{256} << 20;

// "line 3, column 7" ("column 7" where there is but one line) of the byte before `position` (nlohmann counts
// the bytes read, the offending one included).
std::string place_of(std::string_view text, size_t position) {
    const std::string_view before = text.substr(0, position > 0 ? std::min(position - 1, text.size()) : 0);
    const size_t line = size_t(std::count(before.begin(), before.end(), '\n')) + 1;
    const size_t line_start = before.rfind('\n') + 1; // npos + 1 = 0
    const std::string column = "column " + std::to_string(before.size() - line_start + 1);
    return text.find('\n') == std::string_view::npos ? column
                                                     : "line " + std::to_string(line) + ", " + column;
}

// The parser's sentence without its error number, its own place, and the (possibly very long) text it has
// read.
std::string reason_of(std::string message) {
    if (const size_t start = message.find("syntax error"); start != std::string::npos)
        message.erase(0, start);
    if (const size_t tag = message.find("] ");
        message.starts_with("[json.exception") && tag != std::string::npos) {
        message.erase(0, tag + 2);
    }
    const size_t read = message.find("; last read: ");
    if (read == std::string::npos) return message;
    const size_t expected = message.rfind("; expected ");
    const bool keeps = expected != std::string::npos && expected > read;
    return message.substr(0, read) + (keeps ? message.substr(expected) : "");
}

// Builds the value from the parser's events and stops at the first breach of what parse_json promises.
class StrictBuilder : public nlohmann::json_sax<nlohmann::json> {
public:
    explicit StrictBuilder(std::string_view text) : text_(text) {}

    nlohmann::json value;
    std::string fault;

    bool null() override { return put(nullptr); }
    bool boolean(bool v) override { return put(v); }
    bool number_integer(number_integer_t v) override { return put(v); }
    bool number_unsigned(number_unsigned_t v) override { return put(v); }
    bool number_float(number_float_t v, const string_t&) override { return put(v); }
    bool string(string_t& v) override { return put(std::move(v)); }
    bool binary(binary_t&) override { return fail("binary values are not JSON"); }
    bool start_object(size_t) override { return open(nlohmann::json::object()); }
    bool start_array(size_t) override { return open(nlohmann::json::array()); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }

    bool key(string_t& name) override {
        if (open_.back()->contains(name))
            return fail("the key " + stillroom::quoted(name) + " appears twice in one object");
        key_ = std::move(name);
        return true;
    }

    bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& error) override {
        return fail(place_of(text_, position) + ": " + reason_of(error.what()));
    }

private:
    bool fail(std::string reason) {
        fault = std::move(reason);
        return false;
    }
    nlohmann::json& place(nlohmann::json v) {
        if (open_.empty()) return value = std::move(v);
        if (open_.back()->is_array()) {
            open_.back()->push_back(std::move(v));
            return open_.back()->back();
        }
        return (*open_.back())[key_] = std::move(v);
    }
    bool put(nlohmann::json v) {
        place(std::move(v));
        return true;
    }
    bool open(nlohmann::json container) {
        if (open_.size() == max_depth) {
            return fail("values are nested more than " + std::to_string(max_depth) + " levels deep");
        }
        open_.push_back(&place(std::move(container)));
        return true;
    }
    bool close() {
        open_.pop_back();
        return true;
    }

    std::string_view text_;
    std::vector<nlohmann::json*> open_;
    std::string key_;
};

} // namespace

Result<nlohmann::json> parse_json(std::string_view text, const std::string& where) {
    if (trimmed(text).empty()) return Error{"is empty, JSON was expected", where};
    StrictBuilder builder(text);
    if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) return Error{builder.fault, where};
    return std::move(builder.value);
}

Result<nlohmann::json> parse_json_line(std::string_view line, const std::string& where) {
    auto parsed = parse_json(line, where);
    if (parsed && !parsed->is_object()) {
        return Error{std::string("an object {...} was expected, found ") + parsed->type_name(), where};
    }
    return parsed;
}

Result<std::vector<nlohmann::json>> read_json_lines(const std::filesystem::path& file) {
    const auto mapped = MappedFile::open(file);
    if (!mapped) return mapped.error();
    std::string_view rest(reinterpret_cast<const char*>(mapped->bytes().data()), mapped->bytes().size());
    std::vector<nlohmann::json> items;
    for (size_t number = 1; !rest.empty(); ++number) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        if (trimmed(line).empty()) continue;
        auto item = parse_json_line(line, file.string() + ":" + std::to_string(number));
        if (!item) return item.error();
        items.push_back(*std::move(item));
    }
    return items;
}

Result<nlohmann::json> read_json(const std::filesystem::path& file) {
    const auto mapped = MappedFile::open(file);
    if (!mapped) return mapped.error();
    const auto bytes = mapped->bytes();
    if (bytes.size() > max_json_bytes) {
        return Error{"has " + std::to_string(bytes.size()) + " bytes, at most " +
                         std::to_string(max_json_bytes) + " are read as JSON",
                     file.string()};
    }
    return parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file.string());
}

} // namespace stillroom::formats
