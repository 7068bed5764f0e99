// SPDX-License-Identifier: GPL-3.0-or-later
// What charts draw and say, without a widget: decimation and smoothing beside the plainest computation,
// numbers, marks, tables, CSV.
#include "base/files.h"
#include "record/store.h"
#include "tests/support/golden.h"
#include "ui/models/chart_csv.h"
#include "ui/models/chart_marks.h"
#include "ui/models/chart_model.h"
#include "ui/models/chart_numbers.h"
#include "ui/models/chart_table_model.h"

#include <QAbstractItemModelTester>
#include <QTest>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>

using namespace stillroom;
using namespace stillroom::ui;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN(), infinity = HUGE_VAL;

/// A curve with everything that spoils one: spikes, zeros, NaN, infinities, undefined values, missing steps.
std::vector<record::SeriesPoint> spoilt(int64_t steps, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> noise;
    std::uniform_real_distribution<double> chance;
    std::vector<record::SeriesPoint> points;
    for (int64_t step = 1; step <= steps; ++step) {
        const double dice = chance(random);
        record::SeriesPoint point;
        point.step = step;
        point.value = std::exp(noise(random));
        if (dice < 0.01) point.value *= 1000;
        if (dice > 0.99) point.value = 0;
        if (dice > 0.985 && dice < 0.99) point.value = -1;
        if (dice > 0.98 && dice < 0.985) point.value = not_a_number;
        if (dice > 0.978 && dice < 0.98) point.value = infinity;
        if (dice > 0.975 && dice < 0.978) point.value = record::Undefined;
        if (dice > 0.97 && dice < 0.975) continue; // not recorded
        point.wall_seconds = point.active_seconds = 0.5 * double(step);
        point.tokens_trained = 100 * step;
        points.push_back(point);
    }
    return points;
}

struct Curve {
    SeriesStore store;
    const Series* series = nullptr;
    Pyramid pyramid;

    explicit Curve(const std::vector<record::SeriesPoint>& points, size_t slice = 1'000'000) {
        store.append("curve", points);
        series = store.find("curve");
        while (!pyramid.extend(*series, slice)) {
        }
    }
    DrawnData draw(PlotWindow window, const Breaks& breaks = {}, double scale = 1) const {
        return decimate(*series, pyramid, store, window, breaks, scale);
    }
};

PlotWindow window_of(double first, double last, int columns, bool log = false) {
    PlotWindow window;
    window.first = first;
    window.last = last;
    window.columns = columns;
    window.log = log;
    return window;
}

bool drawable(double value, bool log) { return std::isfinite(value) && (!log || value > 0); }

std::set<std::pair<int64_t, double>> points_of(const DrawnData& data, double first, double last) {
    std::set<std::pair<int64_t, double>> points;
    for (const auto& segment : data.segments)
        for (const auto& point : segment)
            if (point.x >= first && point.x <= last) points.emplace(point.step, point.y);
    return points;
}

} // namespace

class ChartModelsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void decimation_keeps_first_lowest_highest_and_last_of_every_column() {
        for (const bool log : {false, true}) {
            for (const auto& [first, last, columns] :
                 {std::tuple(0.5, 20000.5, 500), std::tuple(4000.0, 12000.0, 333),
                  std::tuple(1.0, 20000.0, 10)}) {
                const Curve curve(spoilt(20000, 7));
                const auto data = curve.draw(window_of(first, last, columns, log));
                // Column by column from the points themselves.
                std::map<int, std::vector<std::pair<int64_t, double>>> by_column;
                int64_t total = 0, not_positive = 0, not_finite = 0;
                for (size_t i = 0; i < curve.series->step.size(); ++i) {
                    const double x = double(curve.series->step[i]), value = curve.series->value[i];
                    if (x < first || x > last) continue;
                    ++total;
                    if (std::isfinite(value) && !(value > 0)) ++not_positive;
                    if (!std::isfinite(value) && !record::is_undefined(value)) ++not_finite;
                    const int column =
                        std::min(columns - 1, int(std::floor((x - first) / ((last - first) / columns))));
                    if (drawable(value, log)) by_column[column].emplace_back(curve.series->step[i], value);
                }
                std::set<std::pair<int64_t, double>> expected;
                for (auto& [column, points] : by_column) {
                    expected.insert(points.front());
                    expected.insert(points.back());
                    const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
                    expected.insert(*std::min_element(points.begin(), points.end(), less));
                    expected.insert(*std::max_element(points.begin(), points.end(), less));
                }
                QCOMPARE(points_of(data, first, last), expected);
                QCOMPARE(data.total, total);
                QCOMPARE(data.drawn, int64_t(expected.size()));
                QCOMPARE(data.not_finite_count, not_finite);
                QCOMPARE(data.not_positive_count, log ? not_positive : 0);
                QVERIFY(data.not_finite.size() <= size_t(columns));
            }
        }
    }

    void every_point_is_drawn_where_there_is_room_and_lines_break_at_what_they_cannot_show() {
        std::vector<record::SeriesPoint> points;
        for (const double value : {1.0, 2.0, not_a_number, 3.0, 0.0, 4.0, record::Undefined, 5.0, infinity}) {
            record::SeriesPoint point;
            point.step = int64_t(points.size()) + 1;
            point.value = value;
            points.push_back(point);
        }
        const Curve curve(points);
        const auto lengths = [](const DrawnData& data) {
            std::vector<size_t> lengths;
            for (const auto& segment : data.segments) lengths.push_back(segment.size());
            return lengths;
        };
        const auto linear = curve.draw(window_of(0, 10, 100));
        QCOMPARE(lengths(linear), (std::vector<size_t>{2, 3, 1})); // 1 2 | 3 0 4 | 5
        QCOMPARE(linear.not_finite, (std::vector<double>{3, 9}));  // an undefined value has no mark
        QCOMPARE(linear.drawn, int64_t(6));
        QCOMPARE(linear.total, int64_t(9));
        const auto log = curve.draw(window_of(0, 10, 100, true));
        QCOMPARE(lengths(log), (std::vector<size_t>{2, 1, 1, 1}));
        QCOMPARE(log.not_positive, (std::vector<double>{5}));
        // Steps that were lost interrupt the line, and nothing else does.
        const auto lost = curve.draw(window_of(0, 10, 100), Breaks{{{2, 2}}, {}});
        QCOMPARE(lengths(lost), lengths(linear)); // step 2 itself is there
        points.erase(points.begin() + 1);
        QCOMPARE(lengths(Curve(points).draw(window_of(0, 10, 100), Breaks{{{2, 2}}, {}})),
                 (std::vector<size_t>{1, 3, 1}));
        QCOMPARE(curve.draw(window_of(0, 10, 100), {}, 100).segments[0][1].y, 200.0);
    }

    void a_window_s_lines_come_from_and_go_to_the_points_beside_it() {
        std::vector<record::SeriesPoint> points;
        for (int64_t step = 1; step <= 100; ++step) points.push_back({step, double(step)});
        const auto data = Curve(points).draw(window_of(20, 30, 100));
        QCOMPARE(data.segments.size(), size_t(1));
        QCOMPARE(data.segments[0].front().step, int64_t(19));
        QCOMPARE(data.segments[0].back().step, int64_t(31));
        QCOMPARE(data.total, int64_t(11));
        QCOMPARE(data.drawn, int64_t(11));
    }

    void a_pyramid_made_in_slices_is_the_one_made_at_once() {
        const auto points = spoilt(70000, 3);
        const Curve whole(points), sliced(points, 777);
        for (const auto& [first, last] :
             {std::pair<size_t, size_t>{0, 60000}, {5, 6}, {1, 4097}, {256, 65536}, {33333, 44444}}) {
            const Bucket a = whole.pyramid.range(*whole.series, first, last),
                         b = sliced.pyramid.range(*sliced.series, first, last);
            QCOMPARE(a.first, b.first);
            QCOMPARE(a.low, b.low);
            QCOMPARE(a.high, b.high);
            QCOMPARE(a.last, b.last);
            QCOMPARE(a.count, uint32_t(last - first));
            QCOMPARE(b.count, a.count);
            uint32_t not_positive = 0;
            for (size_t i = first; i < last; ++i)
                not_positive += std::isfinite(whole.series->value[i]) && !(whole.series->value[i] > 0);
            QCOMPARE(a.not_positive, not_positive);
        }
    }

    void smoothing_is_the_weighted_mean_of_what_was_recorded() {
        for (const bool log : {false, true}) {
            const Curve curve(spoilt(400, 11));
            const Breaks breaks{{{120, 130}}, {200}};
            constexpr int half_life = 8;
            Smoothing smoothing(half_life, log);
            while (!smoothing.extend(*curve.series, breaks, 37)) {
            }
            const auto& raw = *curve.series;
            const auto& smooth = smoothing.series();
            QCOMPARE(smooth.step, raw.step);
            size_t start = 0; // of what counts: after the last gap or resume
            for (size_t t = 0; t < raw.step.size(); ++t) {
                const int64_t step = raw.step[t];
                if (t > 0 && raw.step[t - 1] <= 200 && step > 200) start = t;
                if (t > 0 && step - raw.step[t - 1] > 1 && raw.step[t - 1] < 130 && step > 120) start = t;
                double sum = 0, weights = 0;
                for (size_t i = start; i <= t; ++i) {
                    if (!drawable(raw.value[i], log)) continue;
                    const double weight = std::pow(2.0, -double(step - raw.step[i]) / half_life);
                    sum += weight * (log ? std::log(raw.value[i]) : raw.value[i]);
                    weights += weight;
                }
                if (!drawable(raw.value[t], log)) {
                    QVERIFY(!std::isfinite(smooth.value[t]));
                    continue;
                }
                const double expected = log ? std::exp(sum / weights) : sum / weights;
                QVERIFY2(std::abs(smooth.value[t] - expected) <= 1e-9 * std::abs(expected),
                         qPrintable(QString("step %1").arg(step)));
                if (t == start) QVERIFY(std::abs(smooth.value[t] - raw.value[t]) <= 1e-12 * raw.value[t]);
            }
        }
    }

    void numbers_are_short_and_say_what_they_are() {
        const std::pair<double, const char*> numbers[] = {
            {0.1184, ".118"},      {61.24, "61.24"},   {7168, "7,168"},
            {12345, "12.3k"},      {3.1e-6, "3.1e-6"}, {0, "0"},
            {not_a_number, "nan"}, {infinity, "inf"},  {-infinity, "-inf"},
            {-0.5, "-.5"},         {1, "1"},           {0.0389, ".0389"},
            {2.5e9, "2.5G"},       {1e6, "1.0M"},      {999.94, "999.9"}};
        for (const auto& [value, text] : numbers) QCOMPARE(short_number(value), QString(text));
        QCOMPARE(count_text(1'000'000), QString("1,000,000"));
        QCOMPARE(bytes_text(3.3 * (1 << 30)), QString("3.3 GiB"));
        QCOMPARE(duration_text(45), QString("45 s"));
        QCOMPARE(duration_text(240), QString("4 min"));
        QCOMPARE(duration_text(5400), QString("1 h 30 min"));
    }

    void ticks_are_round_within_the_range_at_least_two_and_at_most_six_characters_wide() {
        std::mt19937 random(5);
        std::uniform_real_distribution<double> exponent(-8, 11), share;
        for (int i = 0; i < 3000; ++i) {
            const double high = std::pow(10, exponent(random)),
                         low = i % 3 ? 0 : high * share(random) * 0.999;
            for (const auto& ticks :
                 {linear_ticks(low, high, 2 + i % 5),
                  low > 0 ? log_ticks(low, high, 2 + i % 5) : linear_ticks(-high, high, 3)}) {
                QVERIFY2(ticks.size() >= 2, qPrintable(QString("%1 to %2").arg(low).arg(high)));
                for (size_t t = 0; t < ticks.size(); ++t) {
                    if (t > 0)
                        QVERIFY2(ticks[t].at > ticks[t - 1].at && ticks[t].label != ticks[t - 1].label,
                                 qPrintable(QString("%1 to %2: %3, %4")
                                                .arg(low, 0, 'g', 12)
                                                .arg(high, 0, 'g', 12)
                                                .arg(ticks[t].label)
                                                .arg(ticks[t].at, 0, 'g', 12)));
                    QVERIFY(ticks[t].at >= -high * 1.000001 && ticks[t].at <= high * 1.000001);
                    if (low == 0) QVERIFY2(ticks[t].label.size() <= 6, qPrintable(ticks[t].label));
                }
            }
        }
    }

    void lost_steps_and_resumes_are_read_from_the_events() {
        SeriesStore clocks;
        clocks.append("loss", spoilt(100, 1));
        std::vector<record::StoredEvent> events(2);
        events[0].event = {40, "gap", "lost in steps 31 to 37: 7 records refused"};
        events[0].session = 1;
        events[1].event = {50, "warning", "something else"};
        events[1].session = 1;
        const std::vector<record::CheckpointRecord> checkpoints{{20, "checkpoints/step-000020", 1, 1, 0.5}};
        const std::vector<record::EvaluationSummary> evaluations;
        const std::vector<record::AlarmRecord> alarms{{"Truncation", "warning", 60, 65, 6, "31 %", true}};
        const RunLists lists{checkpoints, evaluations, alarms, events};
        QCOMPARE(breaks_of(events).gaps, (std::vector<std::pair<int64_t, int64_t>>{{31, 37}}));
        const auto bands = bands_of(lists, clocks, XAxis::Step);
        QCOMPARE(bands.size(), size_t(1));
        QVERIFY(bands[0].first <= 31 && bands[0].last >= 37);
        QVERIFY(bands[0].text.contains("lost"));
        const auto markers =
            markers_of(lists, clocks, XAxis::Step, {MarkerKind::Checkpoint, MarkerKind::Alarm});
        QCOMPARE(markers.size(), size_t(2));
        QCOMPARE(markers[0].kind, MarkerKind::Checkpoint);
        QVERIFY(markers[0].text.contains("checkpoint 20") && markers[0].text.contains(".5"));
        QCOMPARE(markers[1].x, 65.0);
        QVERIFY(markers_of(lists, clocks, XAxis::Step, {}).empty());
    }

    void a_chart_as_a_table_has_one_row_a_recorded_step() {
        SeriesStore store;
        store.append("entropy_student", {{1, 0.5}, {2, not_a_number}, {4, 0.25}});
        store.append("entropy_teacher", {{1, 1.0}, {2, 2.0}, {3, record::Undefined}, {4, 4.0}});
        const auto& catalogue = chart_catalogue();
        const auto entropy = std::find_if(catalogue.begin(), catalogue.end(),
                                          [](const auto& chart) { return chart.id == "entropy"; });
        ChartModel chart(*entropy);
        QVERIFY(chart.prepare(store, {}, {}, {}));
        ChartTableModel table(chart, store);
        const QAbstractItemModelTester tester(&table, QAbstractItemModelTester::FailureReportingMode::QtTest);
        table.refresh(XAxis::Step);
        QCOMPARE(table.rowCount(), 4);
        QCOMPARE(table.columnCount(), 3);
        QStringList cells;
        for (int row = 0; row < 4; ++row)
            for (int column = 0; column < 3; ++column)
                cells.push_back(table.index(row, column).data().toString());
        QCOMPARE(cells[0], QString("1"));
        QCOMPARE(cells[1].toDouble(), 0.5);
        QCOMPARE(cells[4], QString("nan"));
        QCOMPARE(cells[7], QString()); // not recorded at step 3
        QCOMPARE(cells[8], QString("undefined"));
        store.append("entropy_student", {{5, 0.125}});
        QVERIFY(chart.prepare(store, {}, {}, {}));
        table.refresh(XAxis::Step);
        QCOMPARE(table.rowCount(), 5);
    }

    void csv_holds_every_recorded_point_as_it_was_recorded() {
        const test::TemporaryFolder folder;
        const auto run = folder.path() / "run";
        std::filesystem::create_directories(run);
        record::RunDescription description;
        description.name = "a, \"quoted\" run";
        description.steps_planned = 3;
        auto store = record::RunStore::create(run, description).value();
        for (int64_t i = 1; i <= 3; ++i) {
            record::StepRecord step;
            step.step = i;
            step.wall_seconds = 1.5 * double(i);
            step.active_seconds = double(i);
            step.tokens_trained = 1000 * i;
            step.metrics["loss"] = i == 2 ? not_a_number : 1.0 / 3 * double(i);
            if (i != 1) step.metrics["kl"] = i == 2 ? infinity : record::Undefined;
            store.append(record::Record(step)).value();
        }
        auto reader = record::RunReader::open(run).value();
        QCOMPARE(QString::fromStdString(metrics_csv(reader, {{"loss", "kl"}, 0, {}}).value()),
                 QString("run,step,wall_s,active_s,tokens,loss,kl\n"
                         "\"a, \"\"quoted\"\" run\",1,1.5,1,1000,0.3333333333333333,\n"
                         "\"a, \"\"quoted\"\" run\",2,3,2,2000,nan,inf\n"
                         "\"a, \"\"quoted\"\" run\",3,4.5,3,3000,1,\n"));
        const auto smooth = metrics_csv(reader, {{"loss"}, 1, {}}).value();
        QVERIFY(smooth.starts_with("run,step,wall_s,active_s,tokens,loss,loss_smooth_h1\n"));
        // Half-life 1: weights 1 and 1/4 two steps later.
        const double expected = (1 + 1.0 / 3 / 4) / (1 + 0.25);
        const std::string last = smooth.substr(smooth.rfind(',') + 1);
        QVERIFY(std::abs(std::stod(last) - expected) < 1e-12);
        const auto file = folder.path() / "metrics.csv";
        QCOMPARE(write_metrics_csv(reader, {{"loss", "kl"}, 0, {}}, file).value(), int64_t(3));
        QCOMPARE(read_file(file).value(), metrics_csv(reader, {{"loss", "kl"}, 0, {}}).value());
        const auto refused = write_metrics_csv(reader, {}, folder.path() / "nowhere" / "metrics.csv");
        QVERIFY(!refused && refused.error().message().find("nowhere") != std::string::npos);
    }

    void clip_lines_that_the_recipe_does_not_use_say_so() {
        SeriesStore store;
        store.append("truncated_fraction", {{1, 0.25}});
        const auto& catalogue = chart_catalogue();
        ChartModel chart(*std::find_if(catalogue.begin(), catalogue.end(),
                                       [](const auto& one) { return one.id == "clip"; }));
        const std::map<std::string, std::string> settings{{"objective.clamp.kind", "none"},
                                                          {"objective.ratio", "none"}};
        QVERIFY(chart.prepare(store, settings, {}, {}));
        QStringList values;
        for (size_t line = 0; line < chart.styles().size(); ++line)
            values.push_back(chart.styles()[line].name + " " + chart.value_text(line, 1));
        QCOMPARE(values, (QStringList{"entry not used", "token not used", "PPO not used", "truncated 25"}));
    }

    void the_planned_rate_is_that_of_each_schedule() {
        const auto at = [](const char* schedule, int64_t step) {
            return *planned_rate({{"optimizer.lr", "1.0"},
                                  {"optimizer.schedule", schedule},
                                  {"optimizer.warmup", "4"},
                                  {"optimizer.min_lr", "0.1"},
                                  {"run.steps", "104"}},
                                 step);
        };
        QCOMPARE(at("constant", 2), 0.5);
        QCOMPARE(at("constant", 90), 1.0);
        QVERIFY(std::abs(at("linear", 55) - 0.55) < 1e-12); // half-way between 1 and 0.1
        QVERIFY(std::abs(at("cosine", 55) - 0.55) < 1e-12);
        QVERIFY(!planned_rate({}, 1));
    }
};

QTEST_APPLESS_MAIN(ChartModelsTest)
#include "chart_models_test.moc"
