// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/chart_model.h"

#include "ui/models/chart_numbers.h"

#include <algorithm>
#include <cmath>

namespace stillroom::ui {

namespace {

constexpr size_t points_a_call = 100'000; // half a millisecond's worth a series

/// Whether two metrics differ by more than rounding, as far as their newest points tell.
bool differs(const Series& a, const Series& b) {
    const size_t count = std::min({a.value.size(), b.value.size(), size_t(64)});
    for (size_t i = 1; i <= count; ++i) {
        const double x = a.value[a.value.size() - i], y = b.value[b.value.size() - i];
        if (std::abs(x - y) > 1e-6 * std::max(std::abs(x), std::abs(y))) return true;
    }
    return false;
}

/// The index of the last point at or before `step`; none before the first.
std::optional<size_t> index_at(const Series& series, int64_t step) {
    const auto after = std::upper_bound(series.step.begin(), series.step.end(), step);
    if (after == series.step.begin()) return std::nullopt;
    return size_t(after - series.step.begin()) - 1;
}

} // namespace

const Series* ChartModel::points(size_t line) const {
    const Line& of = lines_[line];
    return of.kind == Line::Kind::Evaluations ? &of.own : of.source;
}

const Series* ChartModel::smoothed(size_t line) const {
    const Line& of = lines_[line];
    return of.smoothing && of.kind == Line::Kind::Recorded ? &of.smoothing->series() : nullptr;
}

std::vector<std::pair<LineDefinition, const Series*>>
ChartModel::wanted_lines(const SeriesStore& store, const std::map<std::string, std::string>& settings) const {
    std::vector<std::pair<LineDefinition, const Series*>> wanted;
    for (const LineDefinition& line : definition_.lines) {
        const Series* source = store.find(line.tag);
        const auto setting = settings.find(line.used_if);
        if (setting != settings.end() && setting->second == "none") source = nullptr;
        if (line.optional && !source) continue;
        if (line.tag == "loss") { // beside the exact KL only where it is something else
            const Series* exact = store.find("kl_reverse_exact");
            if (exact && !differs(*source, *exact)) continue;
        }
        wanted.emplace_back(line, source);
    }
    return wanted;
}

void ChartModel::set_lines(const SeriesStore& store, const std::map<std::string, std::string>& settings) {
    const auto wanted = wanted_lines(store, settings);
    std::vector<std::pair<std::string, const Series*>> known;
    for (const auto& [line, source] : wanted) known.emplace_back(line.tag, source);
    if (known == known_ && settings.size() == settings_known_ && !lines_.empty()) return;
    known_ = std::move(known);
    settings_known_ = settings.size();
    lines_.clear();
    styles_.clear();
    for (const auto& [definition, source] : wanted) {
        Line line;
        line.tag = definition.tag;
        line.source = source;
        line.kind = definition.style.form == Form::Area ? Line::Kind::Stacked : Line::Kind::Recorded;
        if (!source) {
            const auto setting = settings.find(definition.used_if);
            line.note = setting != settings.end() && setting->second == "none" ? "not used"
                        : store.last_step() > 0                                ? "not recorded"
                                                                               : "";
        }
        styles_.push_back(definition.style);
        lines_.push_back(std::move(line));
    }
    if (definition_.id == "lr") add_planned_rate(settings);
}

void ChartModel::add_planned_rate(const std::map<std::string, std::string>& settings) {
    const auto steps = settings.find("run.steps");
    if (steps == settings.end() || !planned_rate(settings, 1)) return;
    const int64_t last = std::max<int64_t>(1, QString::fromStdString(steps->second).toLongLong());
    Line line;
    line.kind = Line::Kind::Planned;
    const int64_t stride = std::max<int64_t>(1, last / 4000);
    for (int64_t step = 1; step <= last; step += stride) {
        line.own.step.push_back(step);
        line.own.value.push_back(*planned_rate(settings, step));
    }
    line.source = nullptr;
    styles_.push_back(
        {"planned", "what the recipe's schedule gives", Tone::Second, Dash::Dashed, Shape::None, Form::Line});
    lines_.push_back(std::move(line));
}

void ChartModel::set_evaluations(const std::vector<record::EvaluationSummary>& evaluations) {
    if (evaluations.size() == evaluations_known_) return;
    evaluations_known_ = evaluations.size();
    lines_.clear();
    styles_.clear();
    const auto metric = [](const record::EvaluationSummary& of, const char* name) {
        const auto found = of.metrics.find(name);
        return found == of.metrics.end() ? record::Undefined : found->second;
    };
    for (const auto& evaluation : evaluations) {
        const double score = metric(evaluation, "eval_avg_at_n");
        if (!std::isfinite(score)) continue;
        auto line = std::find_if(lines_.begin(), lines_.end(),
                                 [&](const Line& other) { return other.tag == evaluation.tag; });
        if (line == lines_.end()) {
            const size_t n = lines_.size();
            lines_.emplace_back();
            line = lines_.end() - 1;
            line->tag = evaluation.tag;
            line->kind = Line::Kind::Evaluations;
            QString name = QString::fromStdString(evaluation.tag);
            name.replace('_', ' ');
            styles_.push_back({name, "eval_avg_at_n ± se_clustered", n == 0 ? Tone::First : Tone::Second,
                               n == 0 ? Dash::Solid : Dash::Dotted, n == 0 ? Shape::Circle : Shape::Square,
                               Form::Points});
        }
        if (!line->own.step.empty() && evaluation.step <= line->own.step.back()) continue;
        const double error = metric(evaluation, "se_clustered"), questions = metric(evaluation, "questions"),
                     samples = metric(evaluation, "samples");
        QString text = short_number(score);
        if (error > 0) {
            text += " ± " + short_number(error);
        } else if (error == 0 && questions > 0) { // all alike: no spread to estimate an error from
            text = score == 0 ? QString("0 of %1, below %2").arg(questions).arg(short_number(3 / questions))
                   : score == 1
                       ? QString("%1 of %1, above %2").arg(questions).arg(short_number(1 - 3 / questions))
                       : text;
        }
        if (questions > 0 && samples > 0)
            text += QString(", %1 × %2").arg(questions).arg(short_number(samples / questions));
        line->own.step.push_back(evaluation.step);
        line->own.value.push_back(score);
        line->errors.push_back(error);
        line->protocols.push_back(evaluation.protocol_hash);
        line->texts.push_back(text);
    }
}

bool ChartModel::extend_stack(size_t budget) {
    const Series* longest = nullptr;
    for (const Line& line : lines_) {
        if (line.kind == Line::Kind::Stacked && (!longest || line.source->step.size() > longest->step.size()))
            longest = line.source;
    }
    if (!longest) return true;
    size_t begin = longest->step.size();
    for (const Line& line : lines_) {
        if (line.kind == Line::Kind::Stacked) begin = std::min(begin, line.own.step.size());
    }
    const size_t end = std::min(longest->step.size(), begin + budget);
    for (size_t i = begin; i < end; ++i) {
        const int64_t step = longest->step[i];
        double sum = 0;
        for (Line& line : lines_) {
            if (line.kind != Line::Kind::Stacked) continue;
            const auto at = index_at(*line.source, step);
            if (at && line.source->step[*at] == step && std::isfinite(line.source->value[*at]))
                sum += line.source->value[*at];
            line.own.step.push_back(step);
            line.own.value.push_back(sum);
        }
    }
    return end == longest->step.size();
}

bool ChartModel::prepare(const SeriesStore& store, const std::map<std::string, std::string>& settings,
                         const std::vector<record::EvaluationSummary>& evaluations,
                         const ChartOptions& options) {
    if (definition_.evaluations) {
        set_evaluations(evaluations);
        return true;
    }
    set_lines(store, settings);
    bool done = extend_stack(points_a_call);
    const bool broken_anew = options.breaks != breaks_;
    breaks_ = options.breaks;
    for (Line& line : lines_) {
        const Series* drawn = line.drawn();
        if (!drawn) continue;
        done &= line.pyramid.extend(*drawn, points_a_call);
        const bool smooths = options.half_life > 0 && line.kind != Line::Kind::Planned;
        if (!smooths || broken_anew || !line.smoothing || line.smoothing->half_life() != options.half_life ||
            line.smoothing->log() != options.window.log) {
            line.smoothing.reset();
            line.smooth_pyramid = {};
            if (smooths) line.smoothing = std::make_unique<Smoothing>(options.half_life, options.window.log);
        }
        if (!smooths) continue;
        done &= line.smoothing->extend(*drawn, options.breaks, points_a_call);
        done &= line.smooth_pyramid.extend(line.smoothing->series(), points_a_call);
    }
    return done;
}

std::vector<DrawnLine> ChartModel::draw(const SeriesStore& store, const ChartOptions& options) const {
    std::vector<DrawnLine> drawn;
    for (const Line& line : lines_) {
        if (line.kind == Line::Kind::Evaluations) {
            drawn.push_back(draw_evaluations(line, store, options));
            continue;
        }
        DrawnLine made;
        made.note = line.note;
        if (const Series* series = line.drawn()) {
            made.data =
                decimate(*series, line.pyramid, store, options.window, options.breaks, definition_.scale);
            if (line.kind == Line::Kind::Planned) trim_planned(made.data, store, options);
            if (line.smoothing) {
                auto smooth = decimate(line.smoothing->series(), line.smooth_pyramid, store, options.window,
                                       options.breaks, definition_.scale);
                if (options.raw && line.kind == Line::Kind::Recorded)
                    made.data.raw = std::move(made.data.segments);
                made.data.segments = std::move(smooth.segments);
                made.data.drawn = smooth.drawn;
            }
        }
        drawn.push_back(std::move(made));
    }
    return drawn;
}

/// What is planned has no other place than its step until it has happened.
void ChartModel::trim_planned(DrawnData& data, const SeriesStore& store, const ChartOptions& options) const {
    data.drawn = data.total = 0;
    if (options.window.axis == XAxis::Step) return;
    for (Segment& segment : data.segments)
        std::erase_if(segment, [&](const DrawnPoint& point) { return point.step > store.last_step(); });
}

DrawnLine ChartModel::draw_evaluations(const Line& line, const SeriesStore& store,
                                       const ChartOptions& options) const {
    DrawnLine drawn;
    bool broken = true;
    for (size_t i = 0; i < line.own.step.size(); ++i) {
        const double x = store.x_of(line.own.step[i], options.window.axis), y = line.own.value[i];
        broken |= i > 0 && line.protocols[i] != line.protocols[i - 1];
        const bool inside = x >= options.window.first && x <= options.window.last;
        drawn.data.total += inside;
        if (options.window.log && !(y > 0)) {
            drawn.data.not_positive.push_back(x);
            drawn.data.not_positive_count += inside;
            broken = true;
            continue;
        }
        if (std::exchange(broken, false)) drawn.data.segments.emplace_back();
        drawn.data.segments.back().push_back({x, y, line.own.step[i]});
        drawn.data.drawn += inside;
        if (line.errors[i] > 0) drawn.bars.push_back({x, y - line.errors[i], y + line.errors[i]});
    }
    return drawn;
}

std::optional<double> ChartModel::value_at(size_t line, int64_t step, bool smooth) const {
    const Line& of = lines_[line];
    const bool own = of.kind == Line::Kind::Planned || of.kind == Line::Kind::Evaluations;
    const Series* series = smooth && of.smoothing ? &of.smoothing->series() : own ? &of.own : of.source;
    const auto at = series ? index_at(*series, step) : std::nullopt;
    if (!at) return std::nullopt;
    return record::is_undefined(series->value[*at]) ? record::Undefined
                                                    : series->value[*at] * definition_.scale;
}

std::optional<double> ChartModel::recorded_at(size_t line, int64_t step, bool smooth) const {
    const Series* series = points(line);
    const auto at = series ? index_at(*series, step) : std::nullopt;
    return at && series->step[*at] == step ? value_at(line, step, smooth) : std::nullopt;
}

QString ChartModel::value_text(size_t line, int64_t step) const {
    const Line& of = lines_[line];
    if (!of.note.isEmpty()) return of.note;
    if (of.kind == Line::Kind::Evaluations) {
        const auto at = index_at(of.own, step);
        return at ? QString("%1 @%2").arg(of.texts[*at]).arg(of.own.step[*at]) : QString();
    }
    const auto value = value_at(line, step);
    if (!value) return {};
    QString text = record::is_undefined(*value) ? "undefined" : short_number(*value);
    if (of.smoothing && of.kind == Line::Kind::Recorded) {
        const auto smooth = value_at(line, step, true);
        if (smooth && std::isfinite(*smooth)) text += " ~" + short_number(*smooth);
    }
    return text;
}

std::optional<int64_t> ChartModel::neighbour(int64_t step, int direction) const {
    std::optional<int64_t> nearest;
    for (const Line& line : lines_) {
        const Series* series = line.kind == Line::Kind::Planned ? nullptr : line.drawn();
        if (!series) continue;
        const auto& steps = series->step;
        const auto at = direction > 0 ? std::upper_bound(steps.begin(), steps.end(), step)
                                      : std::lower_bound(steps.begin(), steps.end(), step);
        if (direction > 0 ? at == steps.end() : at == steps.begin()) continue;
        const int64_t found = direction > 0 ? *at : *std::prev(at);
        if (!nearest || (direction > 0 ? found < *nearest : found > *nearest)) nearest = found;
    }
    return nearest;
}

std::vector<Level> ChartModel::levels(const SeriesStore& store,
                                      const std::map<std::string, std::string>& settings) const {
    std::vector<Level> levels = recipe_levels(definition_.id, settings);
    if (definition_.id == "memory") {
        if (const Series* capacity = store.find("mem_capacity"); capacity && capacity->value.back() > 0) {
            const double most = capacity->value.back() * definition_.scale;
            levels.push_back({most, "capacity " + short_number(most), Dash::Dashed});
        }
    }
    if (definition_.evaluations && !lines_.empty() && lines_[0].own.step.front() == 0) {
        const double start = lines_[0].own.value.front();
        levels.push_back({start, "start " + short_number(start), Dash::Dashed});
    }
    return levels;
}

} // namespace stillroom::ui
