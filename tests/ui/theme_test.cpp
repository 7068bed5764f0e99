// SPDX-License-Identifier: GPL-3.0-or-later
// The colours of ui.md 12.4: readable on every ground of both themes, and told apart without red or green.
#include "ui/window/theme.h"

#include <QApplication>
#include <QPalette>
#include <QTest>
#include <array>
#include <cmath>

using namespace stillroom::ui;

namespace {

using Triple = std::array<double, 3>;

Triple linear(const QColor& colour) {
    const auto one = [](double value) {
        return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
    };
    return {one(colour.redF()), one(colour.greenF()), one(colour.blueF())};
}

double luminance(const QColor& colour) {
    const Triple rgb = linear(colour);
    return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2];
}

double contrast(const QColor& a, const QColor& b) {
    const double x = luminance(a), y = luminance(b);
    return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

/// Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
constexpr double deuteranopia[3][3] = {
    {0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}};
constexpr double protanopia[3][3] = {
    {0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}};

Triple seen(const QColor& colour, const double (&by)[3][3]) {
    const Triple rgb = linear(colour);
    Triple result{};
    for (size_t i = 0; i < 3; ++i)
        result[i] = std::clamp(by[i][0] * rgb[0] + by[i][1] * rgb[1] + by[i][2] * rgb[2], 0.0, 1.0);
    return result;
}

Triple lab(const Triple& rgb) {
    const double x = (0.4124564 * rgb[0] + 0.3575761 * rgb[1] + 0.1804375 * rgb[2]) / 0.95047,
                 y = 0.2126729 * rgb[0] + 0.7151522 * rgb[1] + 0.0721750 * rgb[2],
                 z = (0.0193339 * rgb[0] + 0.1191920 * rgb[1] + 0.9503041 * rgb[2]) / 1.08883;
    const auto f = [](double t) { return t > 216.0 / 24389 ? std::cbrt(t) : (24389.0 / 27 * t + 16) / 116; };
    return {116 * f(y) - 16, 500 * (f(x) - f(y)), 200 * (f(y) - f(z))};
}

double distance(const Triple& a, const Triple& b) {
    return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

} // namespace

class ThemeTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void colours_are_readable_and_told_apart_by_everybody() {
        for (const Theme theme : {Theme::Light, Theme::Dark}) {
            apply(theme);
            const QPalette palette = QApplication::palette();
            const std::vector<std::vector<Role>> groups{{Role::Go, Role::Wait, Role::Stop, Role::Info},
                                                        {Role::Student, Role::Teacher, Role::WithoutAnswer}};
            const std::vector<QColor> grounds = theme == Theme::Light
                                                    ? std::vector<QColor>{"#ffffff", "#efefef"}
                                                    : std::vector<QColor>{"#1e1e1e", "#2d2d2d"};
            for (const auto& group : groups) {
                for (const Role role : group) {
                    const QColor ink = colour(role, palette);
                    for (const QColor& ground : grounds)
                        QVERIFY2(contrast(ink, ground) >= 4.5,
                                 qPrintable(ink.name() + " on " + ground.name()));
                    for (const Role other : group) {
                        if (other <= role) continue;
                        const QColor second = colour(other, palette);
                        const QString pair = ink.name() + " and " + second.name();
                        QVERIFY2(distance(lab(seen(ink, deuteranopia)), lab(seen(second, deuteranopia))) >=
                                     10,
                                 qPrintable(pair));
                        QVERIFY2(distance(lab(seen(ink, protanopia)), lab(seen(second, protanopia))) >= 10,
                                 qPrintable(pair));
                    }
                }
            }
            QVERIFY(contrast(palette.color(QPalette::Text), palette.color(QPalette::Base)) >= 7);
            QVERIFY(contrast(palette.color(QPalette::ButtonText), palette.color(QPalette::Button)) >= 4.5);
            QVERIFY(contrast(palette.color(QPalette::HighlightedText), palette.color(QPalette::Highlight)) >=
                    4.5);
            QVERIFY(contrast(palette.color(QPalette::PlaceholderText), palette.color(QPalette::Base)) >= 3);
        }
    }
};

QTEST_MAIN(ThemeTest)
#include "theme_test.moc"
