// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/token_layout.h"

#include <QFontMetricsF>
#include <QHash>
#include <QTextBoundaryFinder>
#include <algorithm>

namespace stillroom::ui {

namespace {

using Kind = TokenSegment::Kind;

class Setter {
public:
    Setter(const TokenTexts& texts, const QFont& font, double width)
        : texts_(texts), metrics_(font), width_(float(width)), space_(float(metrics_.horizontalAdvance(' '))),
          padding_(float(chip_padding(font))) {}

    TokenLayout set(double end_width) && {
        made_.runs.reserve(texts_.segments.size() + texts_.segments.size() / 8);
        made_.first_run_of_line.push_back(0);
        for (size_t token = 0; token < texts_.size(); ++token) {
            token_ = uint32_t(token);
            for (size_t i = texts_.first_segment[token]; i < texts_.first_segment[token + 1]; ++i) {
                segment_ = uint32_t(i);
                place(texts_.segments[i]);
            }
        }
        if (x_ > 0 && x_ + float(end_width) > width_) new_line();
        made_.end_line = uint32_t(made_.first_run_of_line.size() - 1);
        made_.end_x = x_;
        made_.first_run_of_line.push_back(uint32_t(made_.runs.size()));
        index_tokens();
        return std::move(made_);
    }

private:
    void place(const TokenSegment& segment) {
        const auto length = uint32_t(segment.text.size());
        switch (segment.kind) {
        case Kind::Newline:
            add(0, length, 1.6f * space_);
            new_line();
            return;
        case Kind::Tab:
            fit(0, length, 4 * space_, true);
            return;
        case Kind::Space:
            place_spaces(length);
            return;
        case Kind::Text:
        case Kind::Completed:
            break;
        default:
            fit(0, length, std::min(advance(segment.text) + 2 * padding_, width_), false);
            return;
        }
        const float width = advance(segment.text);
        if (width <= width_) {
            fit(0, length, width, false);
        } else {
            cut(segment.text);
        }
    }

    void place_spaces(uint32_t count) {
        for (uint32_t from = 0; from < count;) {
            const auto room = uint32_t(std::max(1.f, (width_ - x_) / space_));
            const uint32_t here = std::min(count - from, room);
            fit(from, here, float(here) * space_, true);
            from += here;
        }
    }

    /// Adds a run, on a new line if this one has no room; what belongs to the same word comes along.
    void fit(uint32_t from, uint32_t length, float width, bool may_break_before) {
        if (x_ + width > width_ && x_ > 0) {
            if (!may_break_before && break_run_ > made_.first_run_of_line.back()) {
                wrap_word(width);
            } else {
                new_line();
            }
        }
        if (may_break_before) break_run_ = uint32_t(made_.runs.size());
        add(from, length, width);
    }

    void wrap_word(float next_width) {
        const float shift = made_.runs[break_run_].x;
        if (x_ - shift + next_width > width_) { // the word is wider than a line
            new_line();
            return;
        }
        made_.first_run_of_line.push_back(break_run_);
        for (size_t run = break_run_; run < made_.runs.size(); ++run) made_.runs[run].x -= shift;
        x_ -= shift;
    }

    /// A text wider than a line: as many characters as fit on each.
    void cut(const QString& text) {
        QTextBoundaryFinder boundary(QTextBoundaryFinder::Grapheme, text);
        qsizetype from = 0, at = 0;
        float width = 0;
        while (at < text.size()) {
            qsizetype next = boundary.toNextBoundary();
            if (next < 0) next = text.size();
            const float step = advance(text.mid(at, next - at));
            if (x_ + width + step > width_ && x_ + width > 0) {
                if (at > from) add(uint32_t(from), uint32_t(at - from), width);
                new_line();
                from = at;
                width = 0;
            }
            width += step;
            at = next;
        }
        add(uint32_t(from), uint32_t(at - from), width);
    }

    void add(uint32_t from, uint32_t length, float width) {
        made_.runs.push_back({token_, segment_, from, length, x_, width});
        x_ += width;
    }

    void new_line() {
        made_.first_run_of_line.push_back(uint32_t(made_.runs.size()));
        x_ = 0;
        break_run_ = 0;
    }

    float advance(const QString& text) {
        const auto known = advances_.constFind(text);
        if (known != advances_.constEnd()) return *known;
        const auto width = float(metrics_.horizontalAdvance(text));
        advances_.insert(text, width);
        return width;
    }

    void index_tokens() {
        made_.first_run_of_token.assign(texts_.size() + 1, uint32_t(made_.runs.size()));
        for (size_t run = made_.runs.size(); run-- > 0;)
            made_.first_run_of_token[made_.runs[run].token] = uint32_t(run);
    }

    const TokenTexts& texts_;
    const QFontMetricsF metrics_;
    const float width_, space_, padding_;
    QHash<QString, float> advances_;
    TokenLayout made_;
    float x_ = 0;
    uint32_t token_ = 0, segment_ = 0, break_run_ = 0;
};

} // namespace

size_t TokenLayout::line_of(size_t token) const {
    const uint32_t run = first_run_of_token[token];
    const auto after = std::upper_bound(first_run_of_line.begin(), first_run_of_line.end(), run);
    return std::min(size_t(after - first_run_of_line.begin()) - 1, lines() - 1);
}

std::optional<size_t> TokenLayout::token_at(size_t line, double x) const {
    if (line >= lines()) return {};
    const auto begin = runs.begin() + first_run_of_line[line],
               end = runs.begin() + first_run_of_line[line + 1];
    auto run = std::upper_bound(begin, end, float(x), [](float at, const TokenRun& r) { return at < r.x; });
    if (run == begin) return {};
    --run;
    if (float(x) > run->x + run->width) return {};
    return run->token;
}

std::optional<size_t> TokenLayout::token_near(size_t line, double x) const {
    if (line >= lines() || first_run_of_line[line] == first_run_of_line[line + 1]) return {};
    size_t best = first_run_of_line[line];
    const auto distance = [&](size_t run) { return std::abs(runs[run].x + runs[run].width / 2 - float(x)); };
    for (size_t run = best; run < first_run_of_line[line + 1]; ++run) {
        if (distance(run) < distance(best)) best = run;
    }
    return runs[best].token;
}

TokenLayout lay_out(const TokenTexts& texts, const QFont& font, double width, double end_width) {
    return Setter(texts, font, std::max(width, 40.0)).set(end_width);
}

double chip_padding(const QFont& font) { return QFontMetricsF(font).horizontalAdvance('0') * 0.45; }

} // namespace stillroom::ui
