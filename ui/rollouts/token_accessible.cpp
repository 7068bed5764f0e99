// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/rollouts/token_accessible.h"

#include <algorithm>

namespace stillroom::ui {

TokenAccessible::TokenAccessible(TokenView* view) : QAccessibleWidget(view, QAccessible::EditableText) {}

void TokenAccessible::install() {
    static const bool once = [] {
        QAccessible::installFactory([](const QString& name, QObject* object) -> QAccessibleInterface* {
            auto* view = name == QLatin1String("stillroom::ui::TokenView") ? qobject_cast<TokenView*>(object)
                                                                           : nullptr;
            return view ? new TokenAccessible(view) : nullptr;
        });
        return true;
    }();
    (void)once;
}

void* TokenAccessible::interface_cast(QAccessible::InterfaceType type) {
    return type == QAccessible::TextInterface ? static_cast<QAccessibleTextInterface*>(this)
                                              : QAccessibleWidget::interface_cast(type);
}

QString TokenAccessible::text(QAccessible::Text kind) const {
    return kind == QAccessible::Value ? widget()->accessibleDescription() : QAccessibleWidget::text(kind);
}

/// Every token by its label, so that bytes and invisible characters are said too.
const QString& TokenAccessible::all() const {
    if (known_ == view().rollout() && !offsets_.empty()) return text_;
    known_ = view().rollout();
    text_.clear();
    offsets_ = {0};
    for (size_t token = 0; known_ && token < known_->size(); ++token) {
        text_ += token_label(known_->response.ids[token], known_->tokenizer.get());
        offsets_.push_back(int(text_.size()));
    }
    return text_;
}

int TokenAccessible::offset_of(size_t token) const {
    (void)all();
    return offsets_[std::min(token, offsets_.size() - 1)];
}

std::optional<size_t> TokenAccessible::token_of(int offset) const {
    if (all().isEmpty()) return {};
    const auto after = std::upper_bound(offsets_.begin(), offsets_.end(), std::max(offset, 0));
    return std::min(size_t(after - offsets_.begin()) - 1, offsets_.size() - 2);
}

int TokenAccessible::characterCount() const { return int(all().size()); }

QString TokenAccessible::text(int start, int end) const { return all().mid(start, end - start); }

int TokenAccessible::cursorPosition() const { return view().cursor() ? offset_of(*view().cursor()) : 0; }

void TokenAccessible::setCursorPosition(int position) {
    if (const auto token = token_of(position)) view().move_cursor(*token);
}

QRect TokenAccessible::characterRect(int offset) const {
    const auto token = token_of(offset);
    if (!token) return {};
    const QRect place = view().rect_of(*token);
    return {view().viewport()->mapToGlobal(place.topLeft()), place.size()};
}

int TokenAccessible::offsetAtPoint(const QPoint& point) const {
    const auto token = view().token_under(view().viewport()->mapFromGlobal(point));
    return token ? offset_of(*token) : -1;
}

void TokenAccessible::selection(int index, int* start, int* end) const {
    const auto range = view().selection();
    const bool some = index == 0 && range;
    *start = some ? offset_of(range->first) : 0;
    *end = some ? offset_of(range->second + 1) : 0;
}

int TokenAccessible::selectionCount() const { return view().selection() ? 1 : 0; }

void TokenAccessible::addSelection(int start, int end) { setSelection(0, start, end); }

void TokenAccessible::removeSelection(int) {
    if (view().cursor()) view().move_cursor(*view().cursor());
}

void TokenAccessible::setSelection(int, int start, int end) {
    const auto first = token_of(start), last = token_of(end - 1);
    if (!first || !last) return;
    view().move_cursor(*first);
    view().move_cursor(*last, false, true);
}

void TokenAccessible::scrollToSubstring(int start, int) {
    if (const auto token = token_of(start)) view().scroll_to(*token);
}

QString TokenAccessible::attributes(int offset, int* start, int* end) const {
    const auto token = token_of(offset);
    *start = token ? offset_of(*token) : 0;
    *end = token ? offset_of(*token + 1) : 0;
    return {};
}

} // namespace stillroom::ui
