// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/chart_numbers.h"

#include <QLocale>
#include <QRegularExpression>
#include <algorithm>
#include <array>
#include <cmath>

namespace stillroom::ui {

namespace {

/// Numbers read the same everywhere; the C locale would leave thousands ungrouped.
const QLocale& english() {
    static const QLocale locale(QLocale::English, QLocale::UnitedStates);
    return locale;
}

QString without_zero(QString text) {
    if (text.startsWith("0.")) return text.mid(1);
    if (text.startsWith("-0.")) return "-" + text.mid(2);
    return text;
}

/// "2.5e-4": without the zeros that printf puts into exponents.
QString exponent(double value, int decimals) {
    QString text = QString::number(value, 'e', decimals);
    text.replace("e-0", "e-").replace("e+0", "e").replace("e+", "e");
    return text;
}

struct Unit {
    double size;
    const char* suffix;
};
Unit unit_of(double value) {
    for (const Unit unit : {Unit{1e12, "T"}, Unit{1e9, "G"}, Unit{1e6, "M"}, Unit{1e4, "k"}}) {
        if (std::abs(value) >= unit.size) return {unit.size == 1e4 ? 1e3 : unit.size, unit.suffix};
    }
    return {1, ""};
}

/// A label of a tick among ticks `stride` apart of which the largest is `most`.
QString tick_label(double value, double stride, double most) {
    if (std::abs(value) < stride * 1e-6) return "0";
    if (most < 1e-3) {
        // As many digits as tell it from its neighbours.
        const double digits =
            std::floor(std::log10(std::abs(value)) + 1e-9) - std::floor(std::log10(stride) + 1e-9);
        static const QRegularExpression zeros("\\.?0+e");
        QString text = exponent(value, std::clamp(int(digits), 0, 12));
        return text.contains('.') ? text.replace(zeros, "e") : text;
    }
    const Unit unit = unit_of(most);
    const int decimals = std::max(0, int(std::ceil(-std::log10(stride / unit.size) - 1e-9)));
    QString text = unit.size == 1 && most >= 1000 ? english().toString(value, 'f', decimals)
                                                  : QString::number(value / unit.size, 'f', decimals);
    // 2.5 apart needs a digit more than its power of ten says.
    const double rounded = std::round(value / unit.size * std::pow(10, decimals)) / std::pow(10, decimals);
    if (std::abs(rounded * unit.size - value) > stride * 1e-3)
        text = QString::number(value / unit.size, 'f', decimals + 1);
    return without_zero(text) + unit.suffix;
}

double round_stride(double range, int most) {
    const double raw = range / std::max(1, most);
    const double power = std::pow(10, std::floor(std::log10(raw)));
    for (const double factor : {1.0, 2.0, 5.0}) {
        if (factor * power >= raw * (1 - 1e-9)) return factor * power;
    }
    return 10 * power;
}

} // namespace

QString short_number(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    const double size = std::abs(value);
    if (size == 0) return "0";
    if (size < 1e-3) return exponent(value, 1);
    if (size >= 1e4) {
        const Unit unit = unit_of(value);
        const double scaled = value / unit.size;
        return QString::number(scaled, 'f', std::abs(scaled) < 100 ? 1 : 0) + unit.suffix;
    }
    if (size >= 1000) return english().toString(value, 'f', 0);
    const int decimals = size >= 100 ? 1 : size >= 10 ? 2 : size >= 0.1 ? 3 : 4;
    QString text = QString::number(value, 'f', decimals);
    if (text.contains('.')) {
        while (text.endsWith('0')) text.chop(1);
        if (text.endsWith('.')) text.chop(1);
    }
    return without_zero(text);
}

QString count_text(int64_t count) { return english().toString(qlonglong(count)); }

QString bytes_text(double bytes) { return english().formattedDataSize(qint64(bytes), 1); }

QString duration_text(double seconds) {
    const auto whole = int64_t(std::round(seconds));
    if (whole < 100) return QString("%1 s").arg(whole);
    if (whole < 3600) return QString("%1 min").arg(int64_t(std::round(seconds / 60)));
    const int64_t minutes = int64_t(std::round(seconds / 60));
    return minutes % 60 == 0 ? QString("%1 h").arg(minutes / 60)
                             : QString("%1 h %2 min").arg(minutes / 60).arg(minutes % 60);
}

std::vector<Tick> linear_ticks(double low, double high, int most) {
    std::vector<Tick> ticks;
    if (!(high > low)) return ticks;
    const double stride = round_stride(high - low, most), largest = std::max(std::abs(low), std::abs(high));
    for (double n = std::ceil(low / stride - 1e-9); n * stride <= high + stride * 1e-9; ++n)
        ticks.push_back({n * stride, tick_label(n * stride, stride, largest)});
    // One mark says nothing of the scale.
    return ticks.size() < 2 && most < 10 ? linear_ticks(low, high, most + 1) : ticks;
}

std::vector<Tick> log_ticks(double low, double high, int most) {
    if (!(low > 0) || !(high > low)) return {};
    const int first = int(std::ceil(std::log10(low) - 1e-9)), last = int(std::floor(std::log10(high) + 1e-9));
    const double decades = std::log10(high / low);
    const auto label = [](double value) {
        return value >= 1e-3 && value < 1e4 ? short_number(value) : exponent(value, 0);
    };
    std::vector<Tick> ticks;
    if (decades >= 1 && last >= first) {
        const int stride = std::max(1, int(std::ceil((last - first + 1) / double(std::max(1, most)))));
        const bool between = stride == 1 && decades * 3 <= most;
        for (int power = first - 1; power <= last; power += between ? 1 : stride) {
            if (!between && power < first) power = first;
            for (const double factor : {1.0, 2.0, 5.0}) {
                const double value = factor * std::pow(10, power);
                if ((factor > 1 && !between) || value < low * (1 - 1e-9) || value > high * (1 + 1e-9))
                    continue;
                ticks.push_back({value, label(value)});
            }
        }
    }
    return ticks.size() < 2 ? linear_ticks(low, high, most) : ticks;
}

std::vector<Tick> x_ticks(double low, double high, int most, XAxis axis) {
    if (!(high > low)) return {};
    if (axis == XAxis::Step || axis == XAxis::Tokens) {
        std::vector<Tick> ticks;
        const double stride = std::max(1.0, round_stride(high - low, most));
        for (double n = std::ceil(low / stride - 1e-9); n * stride <= high + stride * 1e-9; ++n)
            ticks.push_back({n * stride, tick_label(n * stride, stride, std::abs(high))});
        return ticks;
    }
    constexpr std::array strides{1.,   2.,    5.,    10.,   15.,    30.,    60.,    120.,   300.,    600.,
                                 900., 1800., 3600., 7200., 10800., 21600., 43200., 86400., 172800., 604800.};
    double stride = strides.back();
    for (const double candidate : strides) {
        if (candidate * most >= high - low) {
            stride = candidate;
            break;
        }
    }
    if (high - low < 2) return linear_ticks(low, high, most);
    std::vector<Tick> ticks;
    for (double n = std::ceil(low / stride - 1e-9); n * stride <= high + stride * 1e-9; ++n)
        ticks.push_back({n * stride, x_text(n * stride, axis)});
    return ticks;
}

QString to_string(XAxis axis) {
    switch (axis) {
    case XAxis::Step:
        return "step";
    case XAxis::WallTime:
        return "wall time";
    case XAxis::ActiveTime:
        return "active time";
    case XAxis::Tokens:
        return "tokens trained";
    }
    return {};
}

QString x_text(double x, XAxis axis) {
    if (axis == XAxis::Step) return QString::number(std::round(x), 'f', 0);
    if (axis == XAxis::Tokens) return short_number(x);
    const auto seconds = int64_t(std::round(x));
    if (seconds < 60) return QString("%1 s").arg(seconds);
    const auto two = [](int64_t value) { return QString("%1").arg(value, 2, 10, QChar('0')); };
    if (seconds < 3600) return QString("%1:%2 m").arg(seconds / 60).arg(two(seconds % 60));
    return QString("%1:%2 h").arg(seconds / 3600).arg(two(seconds / 60 % 60));
}

} // namespace stillroom::ui
