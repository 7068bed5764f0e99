// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/rollouts/token_scene.h"

#include "ui/rollouts/token_colours.h"
#include "ui/window/theme.h"

#include <QFontMetricsF>
#include <QLocale>
#include <QPainterPath>

namespace stillroom::ui {

namespace {

using Kind = TokenSegment::Kind;

class Painter {
public:
    Painter(QPainter& painter, const TokenScene& scene, const QPalette& palette)
        : p_(painter), scene_(scene), palette_(palette), metrics_(scene.font), small_(scene.font),
          quiet_(quiet_text(palette)), text_(palette.color(QPalette::Text)),
          accent_(palette.color(QPalette::Highlight)), dark_(is_dark(palette)) {
        small_.setPointSizeF(std::max(5.0, scene.font.pointSizeF() * 0.68));
        baseline_ = (scene.row_height + metrics_.ascent() - metrics_.descent()) / 2;
    }

    void prompt_line(size_t line, double top) {
        const TokenLayout& layout = scene_.pages->prompt;
        for (size_t run = layout.first_run_of_line[line]; run < layout.first_run_of_line[line + 1]; ++run)
            piece(scene_.rollout->prompt, layout.runs[run], top, quiet_);
    }

    void fold(double top) {
        const size_t all = scene_.pages->prompt.lines();
        const QString text = scene_.unfolded
                                 ? QStringLiteral("▴ fold the prompt")
                                 : QStringLiteral("▾ %1 more lines of the prompt, %2 tokens in all")
                                       .arg(all - TokenScene::folded_lines)
                                       .arg(scene_.rollout->prompt.size());
        p_.setFont(small_);
        p_.setPen(palette_.color(QPalette::Link));
        p_.drawText(QPointF(scene_.margin, top + baseline_), text);
    }

    void between(double top, double width) {
        p_.setPen(QPen(palette_.color(QPalette::Mid), 1));
        const double y = std::round(top + scene_.row_height / 2) + 0.5;
        p_.drawLine(QPointF(scene_.margin, y), QPointF(width - scene_.margin, y));
    }

    void line(size_t line, double top) {
        const TokenLayout& layout = scene_.pages->response;
        const size_t begin = layout.first_run_of_line[line], end = layout.first_run_of_line[line + 1];
        for (size_t run = begin; run < end; ++run) background(layout.runs[run], top);
        for (size_t run = begin; run < end; ++run) foreground(layout.runs[run], top);
        brackets(begin, end, top);
        for (size_t run = begin; run < end; ++run) frames(layout.runs[run], top);
        if (line == layout.end_line) end_chip(layout.end_x, top);
    }

private:
    QRectF box(const TokenRun& run, double top) const {
        return QRectF(scene_.margin + double(run.x), top + 3, double(run.width), scene_.row_height - 6);
    }
    uint8_t marks_of(size_t token) const { return token < scene_.marks.size() ? scene_.marks[token] : 0; }
    bool selected(size_t token) const {
        return scene_.selection && token >= scene_.selection->first && token <= scene_.selection->second;
    }
    QColor fill_of(size_t token) const {
        if (selected(token)) return accent_;
        const QRgb fill = token < scene_.fills.size() ? scene_.fills[token] : 0;
        return fill ? QColor(fill) : palette_.color(QPalette::Base);
    }

    void background(const TokenRun& run, double top) {
        const QRectF area = box(run, top);
        const bool filled =
            selected(run.token) || (run.token < scene_.fills.size() && scene_.fills[run.token]);
        if (filled) p_.fillRect(area, fill_of(run.token));
        const uint8_t marks = marks_of(run.token);
        if (scene_.hatched) p_.fillRect(area, QBrush(palette_.color(QPalette::Mid), Qt::BDiagPattern));
        if (marks & TokenScene::Clipped) {
            QColor line = text_on(fill_of(run.token));
            line.setAlphaF(0.28f);
            p_.fillRect(area, QBrush(line, Qt::FDiagPattern));
        }
        // Where a token begins.
        if (scene_.pages->response.first_run_of_token[run.token] == index_of(run)) {
            p_.setPen(QPen(filled ? text_on(fill_of(run.token)) : palette_.color(QPalette::Mid), 1));
            const double x = std::floor(area.left()) + 0.5;
            p_.drawLine(QPointF(x, area.bottom() - 3), QPointF(x, area.bottom()));
        }
    }
    size_t index_of(const TokenRun& run) const { return size_t(&run - scene_.pages->response.runs.data()); }

    void foreground(const TokenRun& run, double top) {
        const uint8_t marks = marks_of(run.token);
        const QColor fill = fill_of(run.token);
        const bool filled = fill != palette_.color(QPalette::Base);
        QColor ink = filled ? text_on(fill) : text_;
        if (marks & TokenScene::Masked) ink = filled ? ink : quiet_;
        piece(scene_.rollout->response, run, top, ink, filled);
        const QRectF area = box(run, top);
        if (marks & TokenScene::Masked) {
            p_.setPen(QPen(ink, 1));
            p_.drawLine(QPointF(area.left(), area.center().y()), QPointF(area.right(), area.center().y()));
        }
        if (marks & TokenScene::Worst) {
            p_.setPen(QPen(ink, 2));
            p_.drawLine(QPointF(area.left() + 2, area.bottom() - 1.5),
                        QPointF(area.right() - 1, area.bottom() - 1.5));
        }
        if (marks & TokenScene::Saturated) {
            p_.setPen(Qt::NoPen);
            p_.setBrush(ink);
            p_.drawEllipse(QPointF(area.center().x(), area.top() + 2.2), 1.5, 1.5);
            p_.setBrush(Qt::NoBrush);
        }
        if (marks & (TokenScene::Hit | TokenScene::CurrentHit)) {
            const bool current = marks & TokenScene::CurrentHit;
            p_.fillRect(QRectF(area.left(), area.top(), area.width(), current ? 4 : 2.5),
                        colour(current ? Role::Stop : Role::Wait, palette_));
        }
    }

    /// The token's own ink: text, marks of what is invisible, chips.
    void piece(const TokenTexts& texts, const TokenRun& run, double top, const QColor& ink,
               bool filled = false) {
        const TokenSegment& segment = texts.segments[run.segment];
        const double x = scene_.margin + double(run.x);
        switch (segment.kind) {
        case Kind::Text:
        case Kind::Completed:
            p_.setFont(scene_.font);
            p_.setPen(ink);
            p_.drawText(QPointF(x, top + baseline_), run.length == uint32_t(segment.text.size())
                                                         ? segment.text
                                                         : segment.text.mid(run.from, run.length));
            return;
        case Kind::Space:
        case Kind::Tab:
        case Kind::Newline:
            if (scene_.whitespace) invisible(segment.kind, run, top, ink);
            return;
        case Kind::Special:
            chip(segment.text, run, top, filled ? ink : special_colour(texts.special[run.token], palette_),
                 5);
            return;
        case Kind::Bytes:
        case Kind::Named:
        case Kind::Unknown:
            chip(segment.text, run, top, ink, 2);
            return;
        }
    }

    void invisible(Kind kind, const TokenRun& run, double top, QColor ink) {
        ink.setAlphaF(0.5f);
        const double x = scene_.margin + double(run.x), middle = top + baseline_ - metrics_.xHeight() / 2;
        if (kind == Kind::Space) {
            p_.setPen(Qt::NoPen);
            p_.setBrush(ink);
            const double step = double(run.width) / run.length;
            for (uint32_t i = 0; i < run.length; ++i)
                p_.drawEllipse(QPointF(x + (i + 0.5) * step, middle), 1.1, 1.1);
            p_.setBrush(Qt::NoBrush);
            return;
        }
        p_.setPen(QPen(ink, 1.1));
        const double left = x + 3, right = x + double(run.width) - 2, head = metrics_.xHeight() * 0.35;
        QPainterPath arrow;
        if (kind == Kind::Tab) {
            arrow.moveTo(left, middle);
            arrow.lineTo(right, middle);
            arrow.moveTo(right - head, middle - head);
            arrow.lineTo(right, middle);
            arrow.lineTo(right - head, middle + head);
        } else {
            const double low = middle + head;
            arrow.moveTo(right, middle - metrics_.xHeight() * 0.6);
            arrow.lineTo(right, low);
            arrow.lineTo(left, low);
            arrow.moveTo(left + head, low - head);
            arrow.lineTo(left, low);
            arrow.lineTo(left + head, low + head);
        }
        p_.drawPath(arrow);
    }

    void chip(const QString& text, const TokenRun& run, double top, const QColor& ink, double radius) {
        const QRectF area = box(run, top).adjusted(1.5, 0.5, -1.5, -0.5);
        p_.setPen(QPen(ink, 1));
        p_.drawRoundedRect(area, radius, radius);
        p_.setFont(scene_.font);
        const double room = area.width() - 2;
        const QString shown =
            metrics_.horizontalAdvance(text) > room ? metrics_.elidedText(text, Qt::ElideRight, room) : text;
        p_.drawText(QPointF(area.center().x() - metrics_.horizontalAdvance(shown) / 2, top + baseline_),
                    shown);
    }

    /// Over the tokens that share a character.
    void brackets(size_t begin, size_t end, double top) {
        const auto& shared = scene_.rollout->response.shared;
        const auto& runs = scene_.pages->response.runs;
        if (shared.empty() || begin == end) return;
        auto group = std::lower_bound(shared.begin(), shared.end(), runs[begin].token,
                                      [](const auto& one, uint32_t token) { return one.second < token; });
        p_.setPen(QPen(quiet_, 1));
        for (; group != shared.end() && group->first <= runs[end - 1].token; ++group) {
            double left = -1, right = -1;
            for (size_t run = begin; run < end; ++run) {
                if (runs[run].token < group->first || runs[run].token > group->second) continue;
                if (left < 0) left = scene_.margin + double(runs[run].x) + 1;
                right = scene_.margin + double(runs[run].x + runs[run].width) - 1;
            }
            if (left < 0) continue;
            QPainterPath bracket;
            bracket.moveTo(left, top + 4);
            bracket.lineTo(left, top + 1);
            bracket.lineTo(right, top + 1);
            bracket.lineTo(right, top + 4);
            p_.drawPath(bracket);
        }
    }

    void frames(const TokenRun& run, double top) {
        const QRectF area = box(run, top);
        const auto& answer = scene_.rollout->answer;
        if (answer && run.token >= answer->first && run.token <= answer->second) {
            const QRectF around = area.adjusted(0, -2, 0, 2);
            p_.setPen(QPen(colour(Role::Info, palette_), 2));
            p_.drawLine(around.topLeft(), around.topRight());
            p_.drawLine(around.bottomLeft(), around.bottomRight());
            const auto& first = scene_.pages->response.first_run_of_token;
            if (index_of(run) == first[answer->first]) p_.drawLine(around.topLeft(), around.bottomLeft());
            if (index_of(run) + 1 == first[answer->second + 1])
                p_.drawLine(around.topRight(), around.bottomRight());
        }
        if (scene_.hovered == run.token && scene_.cursor != run.token) {
            p_.setPen(QPen(quiet_, 1, Qt::DotLine));
            p_.drawRect(area.adjusted(0.5, 0.5, -0.5, -0.5));
        }
        if (scene_.cursor == run.token) {
            p_.setPen(QPen(scene_.focused ? (dark_ ? QColor(Qt::white) : QColor(Qt::black)) : quiet_, 2));
            p_.drawRect(area.adjusted(0, 0, 0, 0));
        }
        const auto pin = std::find(scene_.pins.begin(), scene_.pins.end(), run.token);
        if (pin != scene_.pins.end() && scene_.pages->response.first_run_of_token[run.token] == index_of(run))
            flag(int(pin - scene_.pins.begin()) + 1, area);
    }

    void flag(int number, const QRectF& area) {
        const QRectF place(area.left() - 3, area.top() - 6, 10, 10);
        p_.fillRect(place, colour(Role::Info, palette_));
        QFont tiny = small_;
        tiny.setPixelSize(9);
        p_.setFont(tiny);
        p_.setPen(text_on(colour(Role::Info, palette_)));
        p_.drawText(place, Qt::AlignCenter, QString::number(number));
    }

    void end_chip(double x, double top) {
        const TokenEnd end = end_of(scene_.rollout->record);
        const double width = metrics_.horizontalAdvance(end.text) + 2 * chip_padding(scene_.font) + 6;
        const QRectF area(scene_.margin + x + 6, top + 3, width, scene_.row_height - 6);
        const QColor ink = end.cut ? colour(Role::Stop, palette_) : quiet_;
        if (end.cut) {
            QColor lines = ink;
            lines.setAlphaF(0.3f);
            p_.fillRect(area, QBrush(lines, Qt::BDiagPattern));
        }
        p_.setPen(QPen(ink, 1.2));
        p_.drawRoundedRect(area, 5, 5);
        p_.setFont(scene_.font);
        p_.drawText(area, Qt::AlignCenter, end.text);
    }

    QPainter& p_;
    const TokenScene& scene_;
    const QPalette& palette_;
    const QFontMetricsF metrics_;
    QFont small_;
    const QColor quiet_, text_, accent_;
    const bool dark_;
    double baseline_ = 0;
};

} // namespace

TokenEnd end_of(const record::RolloutRecord& record) {
    const int64_t length = record.length > 0 ? record.length : int64_t(record.tokens.ids.size());
    if (record.finish_reason == "eos") return {QStringLiteral("EOS"), false};
    if (record.finish_reason == "length")
        return {QStringLiteral("cut at %1").arg(QLocale(QLocale::English).toString(qlonglong(length))), true};
    if (record.finish_reason.empty()) return {QStringLiteral("end not recorded"), true};
    return {QStringLiteral("stopped: ") + QString::fromStdString(record.finish_reason), true};
}

size_t TokenScene::prompt_rows() const {
    const size_t lines = rollout->prompt.size() ? pages->prompt.lines() : 0;
    return unfolded || lines <= folded_lines + 1 ? lines : folded_lines; // one line is not worth a fold
}

std::optional<size_t> TokenScene::fold_row() const {
    if (rollout->prompt.size() == 0 || pages->prompt.lines() <= folded_lines + 1) return {};
    return prompt_rows();
}

size_t TokenScene::first_row() const {
    const size_t prompt = prompt_rows();
    return prompt == 0 ? 0 : prompt + (fold_row() ? 1 : 0) + 1;
}

size_t TokenScene::rows() const { return first_row() + pages->response.lines(); }

void paint_tokens(QPainter& painter, const TokenScene& scene, const QPalette& palette, const QRect& area,
                  size_t first) {
    if (!scene.ready()) return;
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setLayoutDirection(Qt::LeftToRight);
    Painter paint(painter, scene, palette);
    const size_t rows = scene.rows(), prompt = scene.prompt_rows(), begin = scene.first_row();
    const auto fold = scene.fold_row();
    double top = area.top();
    for (size_t row = first; row < rows && top < area.bottom() + 1; ++row, top += scene.row_height) {
        if (row < prompt) {
            paint.prompt_line(row, top);
        } else if (fold == row) {
            paint.fold(top);
        } else if (row < begin) {
            paint.between(top, area.right());
        } else {
            paint.line(row - begin, top);
        }
    }
}

} // namespace stillroom::ui
