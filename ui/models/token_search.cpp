// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/token_search.h"

#include "ui/models/token_values.h"

#include <QRegularExpression>
#include <algorithm>
#include <cmath>

namespace stillroom::ui {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? char(c + ('a' - 'A')) : c; }

TokenRange tokens_of(const TokenTexts& texts, size_t begin, size_t end) {
    return {texts.token_at(begin), texts.token_at(std::max(begin + 1, end) - 1)};
}

std::vector<TokenRange> find_text(const TokenTexts& texts, std::string_view wanted) {
    std::vector<TokenRange> hits;
    const std::string& bytes = texts.bytes;
    const auto same = [](char a, char b) { return lower(a) == lower(b); };
    for (auto at = bytes.begin();;) {
        at = std::search(at, bytes.end(), wanted.begin(), wanted.end(), same);
        if (at == bytes.end()) return hits;
        const size_t begin = size_t(at - bytes.begin());
        hits.push_back(tokens_of(texts, begin, begin + wanted.size()));
        at += std::ptrdiff_t(wanted.size());
    }
}

/// Byte offsets of the UTF-16 units of QString::fromUtf8(bytes), the end included. An invalid byte becomes
/// one unit.
std::vector<size_t> byte_offsets(const QString& text, const std::string& bytes) {
    std::vector<size_t> offsets;
    size_t byte = 0;
    for (qsizetype i = 0; i < text.size(); ++i) {
        offsets.push_back(std::min(byte, bytes.size()));
        const QChar unit = text[i];
        if (unit.isLowSurrogate()) {
            byte += 4;
        } else if (!unit.isHighSurrogate()) {
            const bool replaced =
                unit == QChar::ReplacementCharacter && bytes.compare(byte, 3, "\xef\xbf\xbd") != 0;
            byte += replaced || unit.unicode() < 0x80 ? 1 : unit.unicode() < 0x800 ? 2 : 3;
        }
    }
    offsets.push_back(bytes.size());
    return offsets;
}

SearchResult find_pattern(const TokenTexts& texts, const QString& pattern) {
    const QRegularExpression expression(pattern, QRegularExpression::CaseInsensitiveOption |
                                                     QRegularExpression::MultilineOption |
                                                     QRegularExpression::UseUnicodePropertiesOption);
    if (!expression.isValid()) return {{}, "not a regular expression: " + expression.errorString()};
    SearchResult result;
    const QString text = QString::fromUtf8(texts.bytes.data(), qsizetype(texts.bytes.size()));
    const auto offsets = byte_offsets(text, texts.bytes);
    for (auto match = expression.globalMatch(text); match.hasNext();) {
        const auto one = match.next();
        if (one.capturedLength() == 0) continue;
        result.hits.push_back(
            tokens_of(texts, offsets[size_t(one.capturedStart())], offsets[size_t(one.capturedEnd())]));
    }
    return result;
}

std::optional<std::vector<float>> values_named(const TokenRollout& rollout, const QString& name) {
    const record::TokenRecord& tokens = rollout.record.tokens;
    if (name == "kl") return token_values(tokens, {ColourMode::Kl});
    if (name == "gap") return token_values(tokens, {ColourMode::Gap});
    if (name == "gain") return token_values(tokens, {ColourMode::Gain});
    if (name == "entropy") return token_values(tokens, {ColourMode::Entropy});
    if (name == "overlap") {
        auto values = token_values(tokens, {ColourMode::Overlap});
        for (float& value : values) value = 16 - value;
        return values;
    }
    return {};
}

} // namespace

SearchResult search_tokens(const TokenRollout& rollout, const QString& query) {
    const TokenTexts& texts = rollout.response;
    if (query.isEmpty() || texts.size() == 0) return {};
    static const QRegularExpression condition("^([a-z]+)\\s*([<>])\\s*(-?[0-9.]+(?:e-?[0-9]+)?)$");
    if (query.startsWith("id:")) {
        bool number = false;
        const int id = query.mid(3).trimmed().toInt(&number);
        if (!number) return {{}, "id: wants a number, as id:151649"};
        SearchResult result;
        for (size_t token = 0; token < texts.size(); ++token) {
            if (texts.ids[token] == id) result.hits.emplace_back(token, token);
        }
        return result;
    }
    if (query.size() > 2 && query.startsWith('/') && query.endsWith('/'))
        return find_pattern(texts, query.mid(1, query.size() - 2));
    if (const auto match = condition.match(query); match.hasMatch()) {
        if (const auto values = values_named(rollout, match.captured(1))) {
            const bool above = match.captured(2) == ">";
            const double bound = match.captured(3).toDouble();
            SearchResult result;
            for (size_t token = 0; token < values->size(); ++token) {
                const double value = double((*values)[token]);
                if (above ? value > bound : value < bound) result.hits.emplace_back(token, token);
            }
            return result;
        }
    }
    return {find_text(texts, query.toStdString()), {}};
}

} // namespace stillroom::ui
