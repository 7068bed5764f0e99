// SPDX-License-Identifier: GPL-3.0-or-later
// A whole rollout on a strip: each line the largest value of its block of tokens, with hits, pins, worst
// tokens and what the token view shows. Pressing and dragging scrolls.
#pragma once

#include "ui/models/token_values.h"

#include <QWidget>

namespace stillroom::ui {

/// The value of each of `lines` blocks that is largest in size; NaN where a block has none.
std::vector<float> block_maxima(const std::vector<float>& values, size_t lines);

class TokenMinimap : public QWidget {
    Q_OBJECT
public:
    explicit TokenMinimap(QWidget* parent = nullptr);

    void set_values(const ColourChoice& choice, std::vector<float> values, double scale, size_t tokens);
    void set_marks(std::vector<size_t> worst, std::vector<TokenRange> hits, std::vector<size_t> pins,
                   std::vector<size_t> clipped);
    void set_visible(std::optional<TokenRange> tokens);

Q_SIGNALS:
    void tokenWanted(size_t token);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void describe();
    double y_of(size_t token) const;
    void want(double y);

    ColourChoice choice_;
    std::vector<float> values_;
    double scale_ = 1;
    size_t tokens_ = 0;
    std::vector<size_t> worst_, pins_, clipped_;
    std::vector<TokenRange> hits_;
    std::optional<TokenRange> visible_;
};

} // namespace stillroom::ui
