// SPDX-License-Identifier: GPL-3.0-or-later
// What keys, mouse and the system do to a token view.
#include "ui/rollouts/token_colours.h"
#include "ui/rollouts/token_view.h"

#include <QApplication>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QWheelEvent>

namespace stillroom::ui {

void TokenView::resizeEvent(QResizeEvent* event) {
    QAbstractScrollArea::resizeEvent(event);
    update_scroll_bar();
    if (event->oldSize().width() != event->size().width()) lay_out_again();
    Q_EMIT scrolled();
}

void TokenView::scrollContentsBy(int, int) {
    viewport()->update();
    Q_EMIT scrolled();
}

void TokenView::wheelEvent(QWheelEvent* event) {
    Q_EMIT touched();
    QAbstractScrollArea::wheelEvent(event);
}

void TokenView::keyPressEvent(QKeyEvent* event) {
    if (event->modifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier)) {
        event->ignore();
        return;
    }
    const bool extend = event->modifiers() & Qt::ShiftModifier;
    const size_t size = scene_.rollout ? scene_.rollout->size() : 0;
    const int page = std::max(1, int(viewport()->height() / scene_.row_height) - 1);
    Q_EMIT touched();
    switch (event->key()) {
    case Qt::Key_Escape:
        escape();
        return;
    case Qt::Key_Backspace:
        Q_EMIT escaped();
        return;
    default:
        break;
    }
    if (size == 0) {
        event->ignore();
        return;
    }
    switch (event->key()) {
    case Qt::Key_Left:
        move_cursor(scene_.cursor ? *scene_.cursor - (*scene_.cursor > 0) : 0, false, extend);
        return;
    case Qt::Key_Right:
        move_cursor(scene_.cursor ? std::min(*scene_.cursor + 1, size - 1) : 0, false, extend);
        return;
    case Qt::Key_Up:
        move_vertically(-1, extend);
        return;
    case Qt::Key_Down:
        move_vertically(1, extend);
        return;
    case Qt::Key_PageUp:
        move_vertically(-page, extend);
        return;
    case Qt::Key_PageDown:
        move_vertically(page, extend);
        return;
    case Qt::Key_Home:
        move_cursor(0, false, extend);
        return;
    case Qt::Key_End:
        move_cursor(size - 1, false, extend);
        return;
    case Qt::Key_Space:
        if (scene_.cursor) toggle_pin(*scene_.cursor);
        return;
    case Qt::Key_Return:
    case Qt::Key_Enter:
        Q_EMIT pinPanelWanted();
        return;
    default:
        event->ignore();
    }
}

/// Unpins, newest first; then gives the selection up; then leaves.
void TokenView::escape() {
    if (!scene_.pins.empty()) {
        scene_.pins.pop_back();
        viewport()->update();
        Q_EMIT pinsChanged();
    } else if (scene_.selection) {
        scene_.selection.reset();
        viewport()->update();
    } else {
        Q_EMIT escaped();
    }
}

void TokenView::move_vertically(int lines, bool extend) {
    if (!scene_.ready()) return;
    if (!scene_.cursor) {
        move_cursor(visible_tokens().value_or(TokenRange{0, 0}).first, false, extend);
        return;
    }
    const TokenLayout& layout = scene_.pages->response;
    const auto line = std::ptrdiff_t(layout.line_of(*scene_.cursor)),
               last = std::ptrdiff_t(layout.lines()) - 1;
    if (goal_ != scene_.cursor) { // the column that the way up and down keeps to
        const TokenRun& run = layout.runs[layout.first_run_of_token[*scene_.cursor]];
        goal_x_ = double(run.x + run.width / 2);
    }
    std::ptrdiff_t to = std::clamp<std::ptrdiff_t>(line + lines, 0, last);
    std::optional<size_t> token;
    while (to >= 0 && to <= last && !(token = layout.token_near(size_t(to), goal_x_)))
        to += lines > 0 ? 1 : -1;
    if (!token) return;
    move_cursor(*token, false, extend);
    goal_ = token;
}

bool TokenView::toggle_fold(const QPoint& position) {
    if (!scene_.ready()) return false;
    const auto row = size_t((position.y() + verticalScrollBar()->value()) / scene_.row_height);
    if (scene_.fold_row() != row) return false;
    scene_.unfolded = !scene_.unfolded;
    if (!scene_.unfolded) verticalScrollBar()->setValue(0);
    update_scroll_bar();
    viewport()->update();
    Q_EMIT scrolled();
    return true;
}

void TokenView::mousePressEvent(QMouseEvent* event) {
    Q_EMIT touched();
    if (event->button() != Qt::LeftButton || toggle_fold(event->position().toPoint())) return;
    pressed_ = token_at(event->position().toPoint(), false);
    dragged_ = false;
    if (!pressed_) return;
    move_cursor(*pressed_, false, event->modifiers() & Qt::ShiftModifier);
}

void TokenView::mouseMoveEvent(QMouseEvent* event) {
    const QPoint position = event->position().toPoint();
    if (pressed_ && (event->buttons() & Qt::LeftButton)) {
        const auto token = token_at(position, true);
        if (token && (dragged_ || token != pressed_)) {
            dragged_ = true;
            if (!anchor_) anchor_ = pressed_;
            if (token != scene_.cursor) move_cursor(*token, false, true);
        }
        return;
    }
    hover_position_ = position;
    if (!hover_timer_.isActive() || token_at(position, false) != scene_.hovered) hover_timer_.start();
    const auto row = size_t((position.y() + verticalScrollBar()->value()) / scene_.row_height);
    viewport()->setCursor(scene_.ready() && scene_.fold_row() == row ? Qt::PointingHandCursor
                                                                     : Qt::IBeamCursor);
}

void TokenView::mouseReleaseEvent(QMouseEvent* event) {
    const bool clicked = event->button() == Qt::LeftButton && pressed_ && !dragged_ &&
                         !(event->modifiers() & Qt::ShiftModifier);
    // A click pins; unpinning by Space or Esc only, so that a second click can start a selection.
    if (clicked && std::find(scene_.pins.begin(), scene_.pins.end(), *pressed_) == scene_.pins.end())
        toggle_pin(*pressed_);
    pressed_.reset();
}

void TokenView::set_hovered(std::optional<size_t> token) {
    if (token == scene_.hovered) return;
    scene_.hovered = token;
    viewport()->update();
    Q_EMIT hoverChanged();
}

bool TokenView::viewportEvent(QEvent* event) {
    if (event->type() == QEvent::Leave) {
        hover_timer_.stop();
        set_hovered({});
    }
    return QAbstractScrollArea::viewportEvent(event);
}

void TokenView::focusInEvent(QFocusEvent* event) {
    QAbstractScrollArea::focusInEvent(event);
    scene_.focused = true;
    viewport()->update();
}

void TokenView::focusOutEvent(QFocusEvent* event) {
    QAbstractScrollArea::focusOutEvent(event);
    scene_.focused = false;
    viewport()->update();
}

void TokenView::changeEvent(QEvent* event) {
    QAbstractScrollArea::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) recolour();
    if (event->type() == QEvent::FontChange) {
        set_font();
        lay_out_again();
    }
}

} // namespace stillroom::ui
