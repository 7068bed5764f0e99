// SPDX-License-Identifier: GPL-3.0-or-later
// The token view for screen readers: a text with a cursor, and the numbers of the cursor's token as its
// value.
#pragma once

#include "ui/rollouts/token_view.h"

#include <QAccessibleWidget>

namespace stillroom::ui {

class TokenAccessible : public QAccessibleWidget, public QAccessibleTextInterface {
public:
    explicit TokenAccessible(TokenView* view);
    /// Makes one for every TokenView, once for the program.
    static void install();

    void* interface_cast(QAccessible::InterfaceType type) override;
    QString text(QAccessible::Text kind) const override;

    int characterCount() const override;
    QString text(int start, int end) const override;
    int cursorPosition() const override;
    void setCursorPosition(int position) override;
    QRect characterRect(int offset) const override;
    int offsetAtPoint(const QPoint& point) const override;
    void selection(int index, int* start, int* end) const override;
    int selectionCount() const override;
    void addSelection(int start, int end) override;
    void removeSelection(int index) override;
    void setSelection(int index, int start, int end) override;
    void scrollToSubstring(int start, int end) override;
    QString attributes(int offset, int* start, int* end) const override;

private:
    TokenView& view() const { return *static_cast<TokenView*>(widget()); }
    const QString& all() const;
    int offset_of(size_t token) const;
    std::optional<size_t> token_of(int offset) const;

    mutable TokenRolloutPtr known_; // whose text these are
    mutable QString text_;
    mutable std::vector<int> offsets_; // of tokens in `text_`, one more than there are
};

} // namespace stillroom::ui
