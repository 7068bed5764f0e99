// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/rollouts/token_colours.h"

#include "ui/window/theme.h"

#include <array>
#include <cmath>

namespace stillroom::ui {

namespace {

constexpr double readable = 4.5;

QColor mixed(const QColor& from, const QColor& to, double share) {
    const auto part = [&](double a, double b) { return float(a + (b - a) * share); };
    return QColor::fromRgbF(part(from.redF(), to.redF()), part(from.greenF(), to.greenF()),
                            part(from.blueF(), to.blueF()));
}

/// Ten stops of cividis (Nuñez, Anderton, Renslow 2018), dark to light.
QColor cividis(double place) {
    static constexpr std::array<QRgb, 10> stops{0xff00224e, 0xff123570, 0xff3b496c, 0xff575d6d, 0xff707173,
                                                0xff8a8678, 0xffa59c74, 0xffc3b369, 0xffe1cc55, 0xfffee838};
    const double at = std::clamp(place, 0.0, 1.0) * (stops.size() - 1);
    const auto below = std::min(size_t(at), stops.size() - 2);
    return mixed(QColor(stops[below]), QColor(stops[below + 1]), at - double(below));
}

double luminance(const QColor& colour) {
    const auto linear = [](double channel) {
        return channel <= 0.04045 ? channel / 12.92 : std::pow((channel + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(colour.redF()) + 0.7152 * linear(colour.greenF()) +
           0.0722 * linear(colour.blueF());
}

} // namespace

QColor ramp_colour(float place, const ColourChoice& choice, const QPalette& palette) {
    const QColor base = palette.color(QPalette::Base);
    const double size = std::min(1.0, double(std::abs(place)));
    if (!is_diverging(choice)) {
        // Small values fade into the background instead of covering everything.
        const double strength = std::min(1.0, size * 4);
        return mixed(base, cividis(is_dark(palette) ? size : 1 - size), strength);
    }
    const bool gain = choice.mode == ColourMode::Gain;
    const Role role =
        place >= 0 ? (gain ? Role::Go : Role::Student) : (gain ? Role::WithoutAnswer : Role::Teacher);
    return mixed(base, colour(role, palette), std::sqrt(size));
}

QColor text_on(const QColor& background) {
    return contrast(background, Qt::black) >= contrast(background, Qt::white) ? QColor(Qt::black)
                                                                              : QColor(Qt::white);
}

double contrast(const QColor& a, const QColor& b) {
    const double first = luminance(a), second = luminance(b);
    return (std::max(first, second) + 0.05) / (std::min(first, second) + 0.05);
}

QColor quiet_text(const QPalette& palette) {
    const QColor base = palette.color(QPalette::Base), text = palette.color(QPalette::Text);
    for (double share = 0.45; share > 0; share -= 0.05) {
        const QColor quiet = mixed(text, base, share);
        if (contrast(quiet, base) >= readable) return quiet;
    }
    return text;
}

QColor special_colour(SpecialRole role, const QPalette& palette) {
    switch (role) {
    case SpecialRole::End:
        return colour(Role::Go, palette);
    case SpecialRole::Think:
        return colour(Role::Wait, palette);
    case SpecialRole::Turn:
        return colour(Role::Info, palette);
    case SpecialRole::Begin:
    case SpecialRole::Other:
    case SpecialRole::None:
        break;
    }
    return quiet_text(palette);
}

} // namespace stillroom::ui
