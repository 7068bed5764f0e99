// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/rollouts/token_view.h"

#include "ui/rollouts/token_accessible.h"
#include "ui/rollouts/token_colours.h"

#include <QCoreApplication>
#include <QFontDatabase>
#include <QHelpEvent>
#include <QPointer>
#include <QScrollBar>
#include <QThreadPool>

namespace stillroom::ui {

namespace {

constexpr size_t laid_out_at_once = 3000; // tokens; more than these take long enough to be felt
constexpr int hover_delay = 80;           // milliseconds
constexpr double smallest_points = 6, largest_points = 28;
constexpr float visible_place = 0.02f; // a value below this share of the scale gets no colour

std::shared_ptr<const TokenPages> pages_of(const TokenRollout& rollout, const QFont& font, double width) {
    const double end_width = QFontMetricsF(font).horizontalAdvance(end_of(rollout.record).text) + 40;
    auto pages = std::make_shared<TokenPages>();
    pages->prompt = lay_out(rollout.prompt, font, width, 0);
    pages->response = lay_out(rollout.response, font, width, end_width);
    return pages;
}

} // namespace

TokenView::TokenView(QWidget* parent) : QAbstractScrollArea(parent) {
    TokenAccessible::install();
    setFocusPolicy(Qt::StrongFocus);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOn);
    viewport()->setMouseTracking(true);
    viewport()->setCursor(Qt::IBeamCursor);
    hover_timer_.setSingleShot(true);
    hover_timer_.setInterval(hover_delay);
    connect(&hover_timer_, &QTimer::timeout, this, [this] { set_hovered(token_at(hover_position_, false)); });
    set_font();
}

void TokenView::set_font() {
    QFont font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
    font.setPointSizeF(points_ > 0 ? points_ : std::max(smallest_points, this->font().pointSizeF()));
    scene_.font = font;
    scene_.row_height = std::ceil(QFontMetricsF(font).height() * 1.4) + 4;
}

void TokenView::show_rollout(TokenRolloutPtr rollout, const QString& message) {
    const bool same = rollout && scene_.rollout && rollout->id == scene_.rollout->id;
    message_ = message;
    scene_.rollout = std::move(rollout);
    scene_.pages = nullptr;
    scene_.unfolded = false;
    scene_.hovered.reset();
    if (!same) {
        scene_.cursor.reset();
        scene_.selection.reset();
        scene_.pins.clear();
        hits_.clear();
        current_hit_.reset();
        verticalScrollBar()->setValue(0);
    }
    values_.clear();
    worst_.clear();
    recolour();
    remark();
    lay_out_again();
    describe();
    if (!same) {
        Q_EMIT cursorMoved();
        Q_EMIT pinsChanged();
    }
}

void TokenView::lay_out_again() {
    ++generation_;
    if (!scene_.rollout) {
        update_scroll_bar();
        viewport()->update();
        return;
    }
    const double width = viewport()->width() - 2 * scene_.margin;
    const TokenRolloutPtr rollout = scene_.rollout;
    if (rollout->size() + rollout->prompt.size() <= laid_out_at_once) {
        take_pages(pages_of(*rollout, scene_.font, width));
        return;
    }
    // The guard is looked at on this thread only.
    QThreadPool::globalInstance()->start(
        [rollout, width, font = scene_.font, generation = generation_, guard = QPointer<TokenView>(this)] {
            auto pages = pages_of(*rollout, font, width);
            QMetaObject::invokeMethod(QCoreApplication::instance(), [guard, pages, generation] {
                if (guard && guard->generation_ == generation) guard->take_pages(pages);
            });
        });
    viewport()->update();
}

void TokenView::take_pages(std::shared_ptr<const TokenPages> pages) {
    const auto top = visible_tokens();
    const bool had_scrolled = scene_.ready() && verticalScrollBar()->value() > 0;
    scene_.pages = std::move(pages);
    update_scroll_bar();
    if (top && had_scrolled)
        verticalScrollBar()->setValue(int(double(scene_.row_of(top->first)) * scene_.row_height));
    viewport()->update();
    Q_EMIT laidOut();
    Q_EMIT scrolled();
}

void TokenView::update_scroll_bar() {
    const int height = viewport()->height();
    const double content = scene_.ready() ? double(scene_.rows()) * scene_.row_height + 8 : 0;
    verticalScrollBar()->setRange(0, std::max(0, int(content) - height));
    verticalScrollBar()->setPageStep(std::max(1, height - int(scene_.row_height)));
    verticalScrollBar()->setSingleStep(int(scene_.row_height));
}

void TokenView::set_colours(const ColourChoice& choice, std::vector<float> values, double scale) {
    choice_ = choice;
    values_ = std::move(values);
    scale_ = scale;
    recolour();
    remark();
}

void TokenView::recolour() {
    const size_t size = scene_.rollout ? scene_.rollout->size() : 0;
    scene_.fills.assign(size, 0);
    bool any = false;
    for (size_t token = 0; token < std::min(size, values_.size()); ++token) {
        const float place = place_of(values_[token], choice_, scale_);
        if (std::isnan(place)) continue;
        any = true;
        if (std::abs(place) >= visible_place)
            scene_.fills[token] = ramp_colour(place, choice_, palette()).rgb();
    }
    scene_.hatched = size > 0 && choice_.mode != ColourMode::None && !values_.empty() && !any;
    viewport()->update();
}

void TokenView::remark() {
    const size_t size = scene_.rollout ? scene_.rollout->size() : 0;
    scene_.marks.assign(size, 0);
    if (size == 0) return;
    const auto& flags = scene_.rollout->record.tokens.flags;
    for (size_t token = 0; token < size; ++token) {
        uint8_t& marks = scene_.marks[token];
        if (token < values_.size() && std::abs(place_of(values_[token], choice_, scale_)) >= 1)
            marks |= TokenScene::Saturated;
        if (token >= flags.size()) continue;
        if (flags[token] & masked_flag) marks |= TokenScene::Masked;
        if (choice_.mode == ColourMode::Clipped && (flags[token] & clamped_flag))
            marks |= TokenScene::Clipped;
    }
    for (const size_t token : worst_) scene_.marks[token] |= TokenScene::Worst;
    for (size_t hit = 0; hit < hits_.size(); ++hit) {
        for (size_t token = hits_[hit].first; token <= hits_[hit].second && token < size; ++token)
            scene_.marks[token] |= hit == current_hit_ ? TokenScene::CurrentHit : TokenScene::Hit;
    }
    viewport()->update();
}

void TokenView::set_worst(const std::vector<WorstToken>& worst) {
    worst_.clear();
    for (size_t i = 0; i < std::min(underlined_worst, worst.size()); ++i) worst_.push_back(worst[i].token);
    remark();
}

void TokenView::set_hits(const std::vector<TokenRange>& hits, std::optional<size_t> current) {
    hits_ = hits;
    current_hit_ = current;
    remark();
}

void TokenView::set_whitespace(bool visible) {
    scene_.whitespace = visible;
    viewport()->update();
}

void TokenView::zoom(int direction) {
    const double now = scene_.font.pointSizeF();
    points_ = direction == 0
                  ? 0
                  : std::clamp(now * (direction > 0 ? 1.1 : 1 / 1.1), smallest_points, largest_points);
    set_font();
    lay_out_again();
}

void TokenView::select_all() {
    if (!scene_.rollout || scene_.rollout->size() == 0) return;
    scene_.selection = TokenRange{0, scene_.rollout->size() - 1};
    viewport()->update();
}

void TokenView::move_cursor(size_t token, bool centred, bool extend) {
    if (!scene_.rollout || token >= scene_.rollout->size()) return;
    if (extend) {
        if (!anchor_) anchor_ = scene_.cursor.value_or(token);
        scene_.selection = TokenRange{std::min(*anchor_, token), std::max(*anchor_, token)};
    } else {
        anchor_.reset();
        scene_.selection.reset();
    }
    scene_.cursor = token;
    goal_.reset();
    if (scene_.ready()) {
        const QRect place = rect_of(token);
        const bool visible = place.top() >= 0 && place.bottom() <= viewport()->height();
        const int third = viewport()->height() / 3;
        const bool in_middle = place.top() >= third && place.bottom() <= 2 * third;
        if (centred ? !in_middle : !visible) scroll_to(token);
    }
    viewport()->update();
    describe();
    Q_EMIT cursorMoved();
}

void TokenView::scroll_to(size_t token) {
    if (!scene_.ready()) return;
    const double middle = (double(scene_.row_of(token)) + 0.5) * scene_.row_height;
    verticalScrollBar()->setValue(int(middle) - viewport()->height() / 2);
}

void TokenView::toggle_pin(size_t token) {
    if (!scene_.rollout || token >= scene_.rollout->size()) return;
    const auto pin = std::find(scene_.pins.begin(), scene_.pins.end(), token);
    if (pin != scene_.pins.end()) {
        scene_.pins.erase(pin);
    } else {
        if (scene_.pins.size() == most_pins) scene_.pins.erase(scene_.pins.begin());
        scene_.pins.push_back(token);
    }
    viewport()->update();
    describe();
    Q_EMIT pinsChanged();
}

std::optional<TokenRange> TokenView::visible_tokens() const {
    if (!scene_.ready() || scene_.rollout->size() == 0) return {};
    const TokenLayout& layout = scene_.pages->response;
    const auto begin = size_t(verticalScrollBar()->value() / scene_.row_height);
    const auto end = size_t((verticalScrollBar()->value() + viewport()->height()) / scene_.row_height) + 1;
    const size_t above = scene_.first_row();
    const size_t first = std::min(begin > above ? begin - above : 0, layout.lines() - 1);
    const size_t last = std::min(end > above ? end - above : 1, layout.lines());
    const uint32_t run = layout.first_run_of_line[first];
    const uint32_t past = std::max(layout.first_run_of_line[std::max(last, first + 1)], run + 1);
    if (run >= layout.runs.size()) return {};
    return TokenRange{layout.runs[run].token,
                      layout.runs[std::min<size_t>(past, layout.runs.size()) - 1].token};
}

QRect TokenView::rect_of(size_t token) const {
    if (!scene_.ready() || token >= scene_.rollout->size()) return {};
    const TokenLayout& layout = scene_.pages->response;
    const TokenRun& run = layout.runs[layout.first_run_of_token[token]];
    const double top = double(scene_.row_of(token)) * scene_.row_height - verticalScrollBar()->value();
    return QRectF(scene_.margin + double(run.x), top, double(run.width), scene_.row_height).toAlignedRect();
}

QColor TokenView::fill_of(size_t token) const {
    return token < scene_.fills.size() && scene_.fills[token] ? QColor(scene_.fills[token]) : QColor();
}

std::optional<size_t> TokenView::token_at(const QPoint& position, bool nearest) const {
    if (!scene_.ready() || scene_.rollout->size() == 0) return {};
    const double y = double(position.y() + verticalScrollBar()->value()) / scene_.row_height;
    const size_t above = scene_.first_row();
    if (y < double(above)) return nearest ? std::optional<size_t>(0) : std::nullopt;
    const size_t line = size_t(y) - above;
    const double x = position.x() - scene_.margin;
    if (!nearest) return scene_.pages->response.token_at(line, x);
    return line < scene_.pages->response.lines() ? scene_.pages->response.token_near(line, x)
                                                 : scene_.rollout->size() - 1;
}

void TokenView::describe() {
    QString text = QStringLiteral("tokens of a rollout; arrows move by token and line");
    if (scene_.rollout) {
        text = QStringLiteral("%1 tokens").arg(scene_.rollout->size());
        if (const auto token = scene_.cursor) {
            text +=
                QStringLiteral(", token %1: %2")
                    .arg(*token)
                    .arg(token_label(scene_.rollout->response.ids[*token], scene_.rollout->tokenizer.get()));
            if (*token < values_.size() && !std::isnan(values_[*token]))
                text += QStringLiteral(", %1 %2 %3")
                            .arg(name_of(choice_), QString::number(double(values_[*token]), 'f', 3),
                                 unit_of(choice_));
        }
    }
    setAccessibleDescription(text);
    if (QAccessible::isActive() && hasFocus() && scene_.cursor) {
        QAccessibleTextCursorEvent moved(this, 0);
        if (auto* accessible = QAccessible::queryAccessibleInterface(this))
            moved.setCursorPosition(accessible->textInterface()->cursorPosition());
        QAccessible::updateAccessibility(&moved);
    }
}

void TokenView::paintEvent(QPaintEvent*) {
    QPainter painter(viewport());
    painter.fillRect(viewport()->rect(), palette().color(QPalette::Base));
    if (!scene_.ready()) {
        painter.setPen(quiet_text(palette()));
        const QString text =
            scene_.rollout ? QStringLiteral("Laying out %1 tokens…").arg(scene_.rollout->size()) : message_;
        painter.drawText(viewport()->rect().adjusted(24, 24, -24, -24), Qt::AlignCenter | Qt::TextWordWrap,
                         text);
        return;
    }
    const auto first = size_t(verticalScrollBar()->value() / scene_.row_height);
    const int top = int(double(first) * scene_.row_height) - verticalScrollBar()->value();
    paint_tokens(painter, scene_, palette(), viewport()->rect().adjusted(0, top, 0, 0), first);
}

} // namespace stillroom::ui
