// SPDX-License-Identifier: GPL-3.0-or-later
// The tokens of one rollout: painted for the visible part only, laid out on another thread where there are
// many. Keeps the token cursor, the selection and the pins.
#pragma once

#include "ui/rollouts/token_scene.h"

#include <QAbstractScrollArea>
#include <QTimer>

namespace stillroom::ui {

class TokenView : public QAbstractScrollArea {
    Q_OBJECT
public:
    static constexpr size_t most_pins = 8, underlined_worst = 20;

    explicit TokenView(QWidget* parent = nullptr);

    /// Null: `message` in its place. Cursor, selection, pins and hits go.
    void show_rollout(TokenRolloutPtr rollout, const QString& message = {});
    const TokenRolloutPtr& rollout() const { return scene_.rollout; }
    bool is_laid_out() const { return scene_.ready(); }

    /// Colours by `values` (one a token, or none), whose scale ends at `scale`. Lays nothing out.
    void set_colours(const ColourChoice& choice, std::vector<float> values, double scale);
    void set_worst(const std::vector<WorstToken>& worst);
    /// `current` is one of the hits.
    void set_hits(const std::vector<TokenRange>& hits, std::optional<size_t> current);
    void set_whitespace(bool visible);
    /// 1 larger, -1 smaller, 0 as the system has it.
    void zoom(int direction);

    std::optional<size_t> cursor() const { return scene_.cursor; }
    std::optional<size_t> hovered() const { return scene_.hovered; }
    const std::vector<size_t>& pins() const { return scene_.pins; }
    std::optional<TokenRange> selection() const { return scene_.selection; }
    void select_all();
    /// Moves the cursor and shows it: in the middle third if it was not visible, or `centred` is asked for.
    void move_cursor(size_t token, bool centred = false, bool extend = false);
    void toggle_pin(size_t token);

    /// First and last token of the visible rows; none without any.
    std::optional<TokenRange> visible_tokens() const;
    void scroll_to(size_t token);
    /// Where the first piece of a token is, in the viewport.
    QRect rect_of(size_t token) const;
    /// The token at a place in the viewport; none beside them.
    std::optional<size_t> token_under(const QPoint& position) const { return token_at(position, false); }
    /// What the palette and the mode paint under a token; invalid: nothing.
    QColor fill_of(size_t token) const;

Q_SIGNALS:
    void cursorMoved();
    void hoverChanged();
    void pinsChanged();
    void scrolled();
    void laidOut();
    /// A person pressed, scrolled or typed here.
    void touched();
    void escaped();
    void pinPanelWanted();

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void changeEvent(QEvent* event) override;
    bool viewportEvent(QEvent* event) override;
    void scrollContentsBy(int dx, int dy) override;

private:
    void set_font();
    void lay_out_again();
    void take_pages(std::shared_ptr<const TokenPages> pages);
    void recolour();
    void remark();
    void update_scroll_bar();
    void set_hovered(std::optional<size_t> token);
    void move_vertically(int lines, bool extend);
    void escape();
    bool toggle_fold(const QPoint& position);
    std::optional<size_t> token_at(const QPoint& position, bool nearest) const;
    void describe();

    TokenScene scene_;
    QString message_;
    ColourChoice choice_;
    std::vector<float> values_;
    double scale_ = 1;
    std::vector<size_t> worst_;
    std::vector<TokenRange> hits_;
    std::optional<size_t> current_hit_, anchor_, pressed_, goal_;
    double goal_x_ = 0;
    double points_ = 0; // 0: the system's
    bool dragged_ = false;
    int generation_ = 0; // of layouts; late ones are dropped
    QTimer hover_timer_;
    QPoint hover_position_;
};

} // namespace stillroom::ui
