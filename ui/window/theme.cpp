// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/theme.h"

#include <QApplication>
#include <QPainter>
#include <QPainterPath>
#include <QStyleFactory>
#include <array>

namespace stillroom::ui {

namespace {

struct Pair {
    QRgb light, dark;
};
constexpr std::array<Pair, 8> roles{{{0xff007a5e, 0xff2bc196},
                                     {0xff8a5d00, 0xffe3b341},
                                     {0xffa8123e, 0xffff8a70},
                                     {0xff0b62a3, 0xff6cb6ff},
                                     {0xff6b6b6b, 0xff9a9a9a},
                                     {0xff0069a6, 0xff56b4e9},
                                     {0xffa84a00, 0xffe69f00},
                                     {0xffa03a80, 0xffe08cc0}}};

QPalette palette_of(bool dark) {
    const QColor window = dark ? QColor(0x1e, 0x1e, 0x1e) : QColor(0xef, 0xef, 0xef),
                 base = dark ? QColor(0x2d, 0x2d, 0x2d) : QColor(Qt::white),
                 text = dark ? QColor(0xe6, 0xe6, 0xe6) : QColor(0x1c, 0x1c, 0x1c),
                 faint = dark ? QColor(0x8e, 0x8e, 0x8e) : QColor(0x7a, 0x7a, 0x7a),
                 button = dark ? QColor(0x33, 0x33, 0x33) : QColor(0xe6, 0xe6, 0xe6),
                 accent = dark ? QColor(0x2f, 0x6f, 0xb0) : QColor(0x0b, 0x62, 0xa3);
    QPalette palette(text, button, base.lighter(130), window.darker(150), faint, text, Qt::white, base,
                     window);
    palette.setColor(QPalette::AlternateBase, dark ? QColor(0x26, 0x26, 0x26) : QColor(0xf6, 0xf6, 0xf6));
    palette.setColor(QPalette::Highlight, accent);
    palette.setColor(QPalette::HighlightedText, Qt::white);
    palette.setColor(QPalette::Link, dark ? QColor(0x6c, 0xb6, 0xff) : QColor(0x0b, 0x62, 0xa3));
    palette.setColor(QPalette::ToolTipBase, dark ? QColor(0x3a, 0x3a, 0x3a) : QColor(0xff, 0xff, 0xf0));
    palette.setColor(QPalette::ToolTipText, text);
    palette.setColor(QPalette::PlaceholderText, faint);
    palette.setColor(QPalette::Light, dark ? QColor(0x48, 0x48, 0x48) : QColor(Qt::white));
    palette.setColor(QPalette::Midlight, dark ? QColor(0x3c, 0x3c, 0x3c) : QColor(0xf4, 0xf4, 0xf4));
    palette.setColor(QPalette::Mid, dark ? QColor(0x5c, 0x5c, 0x5c) : QColor(0xb4, 0xb4, 0xb4));
    palette.setColor(QPalette::Dark, dark ? QColor(0x12, 0x12, 0x12) : QColor(0x98, 0x98, 0x98));
    for (const auto role : {QPalette::Text, QPalette::WindowText, QPalette::ButtonText})
        palette.setColor(QPalette::Disabled, role, faint);
    return palette;
}

/// The outlines of icons in a square of 16 by 16.
void paint(QPainter& painter, const QString& name) {
    const auto line = [&](std::initializer_list<QPointF> points, bool closed = false) {
        QPainterPath path(*points.begin());
        for (const auto& point : points) path.lineTo(point);
        if (closed) path.closeSubpath();
        painter.drawPath(path);
    };
    const auto fill = [&] { painter.setBrush(painter.pen().color()); };
    if (name == "play") {
        fill();
        line({{4, 2.5}, {13, 8}, {4, 13.5}}, true);
    } else if (name == "pause") {
        fill();
        painter.drawRect(QRectF(4, 3, 2.5, 10));
        painter.drawRect(QRectF(9.5, 3, 2.5, 10));
    } else if (name == "stop") {
        fill();
        painter.drawRect(QRectF(3.5, 3.5, 9, 9));
    } else if (name == "square") {
        painter.drawRect(QRectF(3.5, 3.5, 9, 9));
    } else if (name == "save" || name == "tray") {
        line({{8, 2}, {8, 9.5}});
        line({{4.8, 6.5}, {8, 9.8}, {11.2, 6.5}});
        line({{2.5, 10}, {2.5, 13.5}, {13.5, 13.5}, {13.5, 10}});
    } else if (name == "evaluate" || name == "ruler") {
        painter.drawRect(QRectF(1.5, 5, 13, 6));
        for (const double x : {4.0, 6.5, 9.0, 11.5}) line({{x, 5}, {x, 8}});
    } else if (name == "new") {
        line({{8, 3}, {8, 13}});
        line({{3, 8}, {13, 8}});
    } else if (name == "sample") {
        line({{6, 2}, {6, 6.5}, {2.5, 13.5}, {13.5, 13.5}, {10, 6.5}, {10, 2}});
        line({{5, 2}, {11, 2}});
    } else if (name == "pencil") {
        line({{3, 13}, {3.8, 9.8}, {11, 2.6}, {13.4, 5}, {6.2, 12.2}}, true);
    } else if (name == "tick") {
        line({{2.5, 8.5}, {6.2, 12.2}, {13.5, 4}});
    } else if (name == "cross") {
        line({{3.5, 3.5}, {12.5, 12.5}});
        line({{12.5, 3.5}, {3.5, 12.5}});
    } else if (name == "ring") {
        QPen pen = painter.pen();
        pen.setDashPattern({2, 1.6});
        painter.setPen(pen);
        painter.drawEllipse(QRectF(2.5, 2.5, 11, 11));
    } else if (name == "arrows") {
        line({{2, 5.5}, {13, 5.5}, {10.3, 2.8}});
        line({{14, 10.5}, {3, 10.5}, {5.7, 13.2}});
    } else if (name == "lens") {
        painter.drawEllipse(QRectF(2.5, 2.5, 7.5, 7.5));
        line({{9, 9}, {13.5, 13.5}});
    } else if (name == "warning") {
        line({{8, 2}, {14.5, 13.5}, {1.5, 13.5}}, true);
        line({{8, 6.2}, {8, 9.8}});
        line({{8, 11.4}, {8, 11.9}});
    } else if (name == "info" || name == "question") {
        painter.drawEllipse(QRectF(2, 2, 12, 12));
        if (name == "info") {
            line({{8, 7.4}, {8, 11.4}});
            line({{8, 4.6}, {8, 5.1}});
        } else {
            QPainterPath path({6, 6.4});
            path.cubicTo({6, 3.6}, {10, 3.6}, {10, 6.2});
            path.cubicTo({10, 7.8}, {8, 7.8}, {8, 9.4});
            painter.drawPath(path);
            line({{8, 11.2}, {8, 11.7}});
        }
    }
}

} // namespace

bool is_dark(const QPalette& palette) { return palette.color(QPalette::Window).lightness() < 128; }

QColor colour(Role role, const QPalette& palette) {
    const Pair& pair = roles[size_t(role)];
    return QColor::fromRgb(is_dark(palette) ? pair.dark : pair.light);
}

void apply(Theme theme) {
    static const QPalette original = QApplication::palette();
    static const QString style = QApplication::style()->objectName();
    if (theme == Theme::System) {
        QApplication::setStyle(QStyleFactory::create(style));
        QApplication::setPalette(original);
        return;
    }
    QApplication::setStyle(QStyleFactory::create("Fusion"));
    QApplication::setPalette(palette_of(theme == Theme::Dark));
}

QString to_string(Theme theme) {
    return theme == Theme::System ? "system" : theme == Theme::Light ? "light" : "dark";
}

Theme theme_of(const QString& name) {
    return name == "light" ? Theme::Light : name == "dark" ? Theme::Dark : Theme::System;
}

RunMark run_mark(int index, const QPalette& palette) {
    // Okabe and Ito's colours and darker or lighter ones of the same hues; the dash tells what grey hides.
    static constexpr std::array<Pair, 10> colours{{{0xff0069a6, 0xff56b4e9},
                                                   {0xffa84a00, 0xffe69f00},
                                                   {0xff00735a, 0xff2bc196},
                                                   {0xffa03a80, 0xffe08cc0},
                                                   {0xff6a5d00, 0xfff0e442},
                                                   {0xff8b1a1a, 0xffff8a70},
                                                   {0xff3d3d9e, 0xffa5a5ff},
                                                   {0xff4d4d4d, 0xffcccccc},
                                                   {0xff006d75, 0xff7fe0e8},
                                                   {0xff5b3a1e, 0xffd2a679}}};
    static const std::array<QList<qreal>, 5> dashes{{{}, {5, 3}, {1.5, 2.5}, {7, 2.5, 1.5, 2.5}, {9, 4}}};
    const Pair& pair = colours[size_t(index) % colours.size()];
    return {QColor::fromRgb(is_dark(palette) ? pair.dark : pair.light),
            dashes[size_t(index) % dashes.size()]};
}

StateLook look_of(const RunStatus& status, const QPalette& palette) {
    const auto look = [&](const char* word, Role role, const char* name) {
        return StateLook{QString::fromUtf8(word), role, icon(QString::fromUtf8(name), colour(role, palette))};
    };
    if (status.driver == Driver::Elsewhere) return look("Elsewhere", Role::Go, "arrows");
    if (status.driver == Driver::Unreachable) return look("Unreachable", Role::Stop, "question");
    switch (status.state) {
    case record::RunState::Preparing:
        return look("Loading", Role::Info, "tray");
    case record::RunState::Running:
        return look("Running", Role::Go, "play");
    case record::RunState::Pausing:
        return look("Pausing", Role::Wait, "pause");
    case record::RunState::Paused:
        return look("Paused", Role::Wait, "pause");
    case record::RunState::Evaluating:
        return look("Evaluating", Role::Info, "ruler");
    case record::RunState::Saving:
        return look("Saving", Role::Info, "tray");
    case record::RunState::Stopping:
        return look("Stopping", Role::Wait, "square");
    case record::RunState::Finished:
        return look("Finished", Role::Go, "tick");
    case record::RunState::Stopped:
        return look("Stopped", Role::Idle, "stop");
    case record::RunState::Failed:
        return look("Failed", Role::Stop, "cross");
    case record::RunState::Interrupted:
        return look("Interrupted", Role::Stop, "ring");
    }
    return look("Unknown", Role::Idle, "question");
}

QIcon icon(const QString& name, const QColor& colour) {
    const QColor selected = QApplication::palette().color(QPalette::HighlightedText);
    QIcon made;
    for (const auto& [mode, pen] : {std::pair(QIcon::Normal, colour), std::pair(QIcon::Selected, selected)}) {
        for (const int size : {16, 32, 48}) {
            QPixmap pixmap(size, size);
            pixmap.fill(Qt::transparent);
            QPainter painter(&pixmap);
            painter.setRenderHint(QPainter::Antialiasing);
            painter.scale(size / 16.0, size / 16.0);
            painter.setPen(QPen(pen, 1.4, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
            paint(painter, name);
            painter.end();
            made.addPixmap(pixmap, mode);
        }
    }
    return made;
}

} // namespace stillroom::ui
