// SPDX-License-Identifier: GPL-3.0-or-later
// Charts in columns: 2 up to 1199 pixels of width, 3 up to 1799, then 4; whole rows fill the height.
#pragma once

#include <QScrollArea>

namespace stillroom::ui {

class ChartGrid : public QScrollArea {
    Q_OBJECT
public:
    explicit ChartGrid(QWidget* parent = nullptr);
    void add(QWidget* chart);
    int columns() const { return columns_; }
    /// Rows that are whole in the view.
    int rows_in_view() const { return rows_in_view_; }

Q_SIGNALS:
    /// Charts were moved or scrolled: others may be in view.
    void arranged();

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void arrange();

    std::vector<QWidget*> charts_;
    int columns_ = 2, rows_in_view_ = 1;
};

} // namespace stillroom::ui
