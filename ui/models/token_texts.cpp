// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/token_texts.h"

#include <QChar>
#include <algorithm>

namespace stillroom::ui {

namespace {

using Kind = TokenSegment::Kind;

/// The length that a UTF-8 character's first byte promises; 0: no first byte.
size_t promised_length(unsigned char byte) {
    if (byte < 0x80) return 1;
    if (byte >= 0xc2 && byte < 0xe0) return 2;
    if (byte >= 0xe0 && byte < 0xf0) return 3;
    if (byte >= 0xf0 && byte < 0xf5) return 4;
    return 0;
}

/// A character in the joined bytes, or bytes that are none.
struct Character {
    size_t begin = 0, end = 0;
    bool valid = false;
    char32_t code = 0;
};

Character character_at(std::string_view bytes, size_t at) {
    const size_t length = promised_length(static_cast<unsigned char>(bytes[at]));
    const Character invalid{at, at + 1, false, 0};
    if (length == 0 || at + length > bytes.size()) return invalid;
    static constexpr char32_t first_bits[]{0, 0x7f, 0x1f, 0x0f, 0x07}, smallest[]{0, 0, 0x80, 0x800, 0x10000};
    char32_t code = static_cast<unsigned char>(bytes[at]) & first_bits[length];
    for (size_t i = 1; i < length; ++i) {
        const auto byte = static_cast<unsigned char>(bytes[at + i]);
        if ((byte & 0xc0) != 0x80) return invalid;
        code = code << 6 | (byte & 0x3f);
    }
    if (code < smallest[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return invalid;
    return {at, at + length, true, code};
}

QString hex_of(std::string_view bytes) {
    return QString::fromLatin1(QByteArray(bytes.data(), qsizetype(bytes.size())).toHex(' ').toUpper());
}

/// The name of a character that leaves no ink, or whose ink misleads; empty: it is shown as it is.
QString name_of_invisible(char32_t code) {
    switch (code) {
    case 0xa0:
        return QStringLiteral("NBSP");
    case 0xad:
        return QStringLiteral("SHY");
    case 0x200b:
        return QStringLiteral("ZWSP");
    case 0x200c:
        return QStringLiteral("ZWNJ");
    case 0x200d:
        return QStringLiteral("ZWJ");
    case 0x200e:
        return QStringLiteral("LRM");
    case 0x200f:
        return QStringLiteral("RLM");
    case 0x202f:
        return QStringLiteral("NNBSP");
    case 0xfeff:
        return QStringLiteral("BOM");
    case '\r':
        return QStringLiteral("CR");
    default:
        break;
    }
    const auto category = QChar::category(code);
    const bool hidden = category == QChar::Other_Control || category == QChar::Other_Format ||
                        category == QChar::Other_NotAssigned || category == QChar::Other_PrivateUse ||
                        (category == QChar::Separator_Space && code != ' ') ||
                        category == QChar::Separator_Line || category == QChar::Separator_Paragraph;
    return hidden ? QStringLiteral("U+%1").arg(QString::number(code, 16).toUpper(), 4, QLatin1Char('0'))
                  : QString();
}

Kind kind_of(char32_t code) {
    if (code == ' ') return Kind::Space;
    if (code == '\n') return Kind::Newline;
    if (code == '\t') return Kind::Tab;
    return name_of_invisible(code).isEmpty() ? Kind::Text : Kind::Named;
}

SpecialRole role_of(std::string_view bytes, bool is_end) {
    const auto has = [&](std::string_view part) { return bytes.find(part) != std::string_view::npos; };
    if (bytes == "<think>" || bytes == "</think>") return SpecialRole::Think;
    if (is_end || has("im_end") || has("endoftext") || has("eot_id") || bytes == "</s>")
        return SpecialRole::End;
    if (has("begin") || bytes == "<s>") return SpecialRole::Begin;
    if (has("im_start") || has("ser|>") || has("ssistant") || has("ystem") || has("header_id") ||
        has("ser｜"))
        return SpecialRole::Turn;
    return SpecialRole::Other;
}

class Builder {
public:
    Builder(std::vector<int32_t> ids, const text::Tokenizer* tokenizer) : tokenizer_(tokenizer) {
        made_.ids = std::move(ids);
    }

    TokenTexts build() && {
        join_bytes();
        made_.first_segment.push_back(0);
        for (token_ = 0; token_ < made_.size(); ++token_) {
            segments_of_token();
            made_.first_segment.push_back(made_.segments.size());
        }
        return std::move(made_);
    }

private:
    void join_bytes() {
        made_.offset.reserve(made_.size() + 1);
        made_.offset.push_back(0);
        for (const int32_t id : made_.ids) {
            const std::string_view bytes = known(id) ? tokenizer_->bytes_of(id) : std::string_view();
            const bool think = bytes == "<think>" || bytes == "</think>";
            made_.special.push_back(known(id) && (think || tokenizer_->is_special(id))
                                        ? role_of(bytes, tokenizer_->eos() == id)
                                        : SpecialRole::None);
            made_.bytes += bytes;
            made_.offset.push_back(made_.bytes.size());
        }
    }

    bool known(int32_t id) const { return tokenizer_ && tokenizer_->is_known(id); }

    void add(Kind kind, QString text) { made_.segments.push_back({kind, std::move(text)}); }

    /// Adds to the token's last segment where that is of the same kind.
    void extend(Kind kind, const QString& text) {
        const bool joins = made_.segments.size() > made_.first_segment.back() &&
                           made_.segments.back().kind == kind && (kind == Kind::Text || kind == Kind::Space);
        if (joins) {
            made_.segments.back().text += text;
        } else {
            add(kind, text);
        }
    }

    void segments_of_token() {
        const size_t begin = made_.offset[token_], end = made_.offset[token_ + 1];
        const int32_t id = made_.ids[token_];
        if (made_.special[token_] != SpecialRole::None) {
            add(Kind::Special, QString::fromUtf8(made_.bytes.data() + begin, qsizetype(end - begin)));
            open_ = {};
            return;
        }
        if (begin == end) {
            add(Kind::Unknown, known(id) ? QStringLiteral("empty") : QStringLiteral("id %1").arg(id));
            return;
        }
        for (size_t at = begin; at < end;) {
            if (open_.end > at) { // the rest of a character that an earlier token began
                const size_t stop = std::min(open_.end, end);
                add_bytes(at, stop);
                if (stop == open_.end) complete();
                at = stop;
                continue;
            }
            const Character next = character_at(made_.bytes, at);
            if (!next.valid) {
                size_t stop = at + 1;
                while (stop < end && !character_at(made_.bytes, stop).valid) ++stop;
                add_bytes(at, stop);
                at = stop;
            } else if (next.end > end) {
                add_bytes(at, end);
                open_ = next;
                opened_by_ = token_;
                at = end;
            } else {
                add_character(next);
                at = next.end;
            }
        }
    }

    void add_bytes(size_t begin, size_t end) {
        add(Kind::Bytes, hex_of(std::string_view(made_.bytes).substr(begin, end - begin)));
    }

    void complete() {
        const Kind kind = kind_of(open_.code);
        const QString text = QString::fromUcs4(&open_.code, 1);
        add(Kind::Completed, kind == Kind::Named ? name_of_invisible(open_.code) : text);
        made_.shared.emplace_back(opened_by_, token_);
        open_ = {};
    }

    void add_character(const Character& character) {
        const Kind kind = kind_of(character.code);
        extend(kind, kind == Kind::Named ? name_of_invisible(character.code)
                                         : QString::fromUcs4(&character.code, 1));
    }

    const text::Tokenizer* tokenizer_;
    TokenTexts made_;
    size_t token_ = 0, opened_by_ = 0;
    Character open_; // the character that the last token left unfinished
};

} // namespace

size_t TokenTexts::token_at(size_t byte) const {
    const auto after = std::upper_bound(offset.begin(), offset.end(), byte);
    const size_t token = size_t(after - offset.begin()) - 1;
    return std::min(token, size() - 1);
}

TokenTexts token_texts(std::vector<int32_t> ids, const text::Tokenizer* tokenizer) {
    return Builder(std::move(ids), tokenizer).build();
}

QString token_label(int32_t id, const text::Tokenizer* tokenizer) {
    const TokenTexts texts = token_texts({id}, tokenizer);
    QString label;
    for (const TokenSegment& segment : texts.segments) {
        switch (segment.kind) {
        case Kind::Space:
            label += QString(segment.text.size(), QChar(0xb7));
            break;
        case Kind::Newline:
            label += QChar(0x21b5);
            break;
        case Kind::Tab:
            label += QChar(0x2192);
            break;
        case Kind::Named:
        case Kind::Bytes:
            label += QLatin1Char('<') + segment.text + QLatin1Char('>');
            break;
        default:
            label += segment.text;
        }
    }
    return label;
}

} // namespace stillroom::ui
