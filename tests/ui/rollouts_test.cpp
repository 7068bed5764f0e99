// SPDX-License-Identifier: GPL-3.0-or-later
// The rollout inspector, driven by keys and clicks, over stores that the test wrote itself.
#include "tests/ui/rollout_examples.h"
#include "ui/models/rollouts_model.h"
#include "ui/rollouts/candidates_panel.h"
#include "ui/rollouts/prompts_panel.h"
#include "ui/rollouts/rollouts_view.h"
#include "ui/rollouts/token_legend.h"
#include "ui/rollouts/token_minimap.h"
#include "ui/rollouts/token_view.h"

#include <QAbstractItemModelTester>
#include <QAccessible>
#include <QApplication>
#include <QClipboard>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLineEdit>
#include <QMainWindow>
#include <QMenuBar>
#include <QMimeData>
#include <QScrollBar>
#include <QTest>
#include <set>

using namespace stillroom;
using namespace stillroom::ui;

namespace {

std::vector<int32_t> encoded(const std::string& text) { return sample_tokenizer()->encode(text); }

record::RolloutRecord rollout_of(const std::string& text, unsigned seed, int64_t step,
                                 bool with_top16 = true) {
    record::RolloutRecord rollout = example_rollout(encoded(text), seed, with_top16).record;
    rollout.step = step;
    rollout.text = text;
    return rollout;
}

/// A window with the inspector in it, as the program's window has it.
struct Window {
    QMainWindow window;
    Actions actions{&window, window.menuBar()};
    StepCursor cursor;
    RolloutsView* view = new RolloutsView({actions, cursor});
    std::unique_ptr<RunSource> source;

    explicit Window(const std::filesystem::path& run) {
        actions.bind_to_view("act.roll.", view);
        window.setCentralWidget(view);
        window.resize(1280, 800);
        window.show();
        if (!QTest::qWaitForWindowActive(&window)) qFatal("the window does not become active");
        source = std::make_unique<RunSource>(run, nullptr);
        view->show_run(source.get());
        view->setFocus();
    }
    ~Window() { view->show_run(nullptr); }

    template <typename T>
    T& find(const char* name) {
        T* found = view->findChild<T*>(name);
        if (!found) qFatal("no widget is named %s", name);
        return *found;
    }
    TokenView& tokens() { return find<TokenView>("view.tokens"); }
    QTableView& list() { return find<QTableView>("list.rollouts"); }
    QAbstractItemModel& candidates() { return *find<QTableView>("table.candidates").model(); }
    QString text_of(const char* label) { return find<QLabel>(label).text(); }
    int64_t open_id() { return tokens().rollout() ? tokens().rollout()->id : 0; }
    bool shows(int64_t id) {
        return QTest::qWaitFor([&] { return open_id() == id && tokens().is_laid_out(); });
    }
    void key(int key, Qt::KeyboardModifiers modifiers = {}) {
        QTest::keyClick(QApplication::focusWidget(), Qt::Key(key), modifiers);
    }
    void type(const char* field, const QString& text) {
        auto& edit = find<QLineEdit>(field);
        edit.setFocus();
        edit.selectAll();
        QTest::keyClick(&edit, Qt::Key_Backspace);
        QTest::keyClicks(&edit, text);
    }
    void click(size_t token) {
        QTest::mouseClick(tokens().viewport(), Qt::LeftButton, {}, tokens().rect_of(token).center());
    }
    QColor pixel_under(size_t token) {
        const QRect place = tokens().rect_of(token);
        // Inside the token's box, above its text.
        const QImage image = tokens().viewport()->grab().toImage();
        const QPointF at = QPointF(place.left() + 2, place.top() + 5) * image.devicePixelRatio();
        return image.pixelColor(at.toPoint());
    }
};

const std::string sum_text = "12+30=42, and 42-2=40\n40*2=80 \\boxed{5}";

} // namespace

class RolloutsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void shows_an_empty_run_and_no_run_in_words();
    void opens_the_newest_and_steps_by_keys();
    void n_and_p_go_through_the_worst_tokens();
    void number_keys_change_legend_and_pixels();
    void hover_shows_a_token_and_a_click_pins_it();
    void candidates_show_the_recorded_kl_and_check_it();
    void a_rollout_without_top16_says_so_and_can_be_pinned();
    void search_counts_and_steps_through_hits();
    void copies_the_exact_bytes_of_a_split_character();
    void copies_json_of_the_selection();
    void whitespace_marks_come_and_go();
    void filter_and_step_selection_narrow_the_list();
    void every_sort_is_done_by_the_store();
    void pages_are_read_as_the_list_is_scrolled();
    void odd_texts_open();
    void a_long_rollout_is_laid_out_and_walked();
    void frozen_content_stays_and_f_follows_the_newest();
    void panels_open_and_close_by_their_keys();
    void mode_without_data_says_why();
    void every_widget_a_person_uses_has_a_name_of_its_own();
    void screen_readers_get_text_cursor_and_value();
    void looks_right_at_all_sizes_and_themes();
};

void RolloutsTest::shows_an_empty_run_and_no_run_in_words() {
    RolloutRun run;
    run.finish(0);
    Window w(run.folder());
    QTRY_VERIFY(w.text_of("lbl.rollouts.empty").startsWith("No rollouts yet"));
    w.view->show_run(nullptr);
    QCOMPARE(w.text_of("lbl.rollouts.empty"), QString("No run is open."));
    QVERIFY(!w.actions["act.roll.nextWorst"].isEnabled());
    QVERIFY(w.actions["act.roll.nextWorst"].toolTip().contains("no rollout is open"));
}

void RolloutsTest::opens_the_newest_and_steps_by_keys() {
    RolloutRun run;
    for (int i = 0; i < 6; ++i) run.add(rollout_of(sum_text, unsigned(i), 1 + i / 2));
    run.finish(3);
    Window w(run.folder());
    QVERIFY(w.shows(6));
    w.key(Qt::Key_J);
    QVERIFY(w.shows(5));
    w.key(Qt::Key_J);
    QVERIFY(w.shows(4));
    w.key(Qt::Key_K);
    QVERIFY(w.shows(5));
    QCOMPARE(w.cursor.step(), std::optional<int64_t>(3));
    w.key(Qt::Key_K, Qt::ShiftModifier); // to the first of step 2 in the list's order
    QVERIFY(w.shows(4));
    QCOMPARE(w.cursor.step(), std::optional<int64_t>(2));
    w.key(Qt::Key_J, Qt::ShiftModifier);
    QVERIFY(w.shows(6));
    w.key(Qt::Key_Return);
    QVERIFY(w.tokens().hasFocus());
    w.key(Qt::Key_Right);
    w.key(Qt::Key_Right);
    QCOMPARE(w.tokens().cursor(), std::optional<size_t>(1));
    w.key(Qt::Key_End);
    QCOMPARE(w.tokens().cursor(), std::optional<size_t>(w.tokens().rollout()->size() - 1));
    w.key(Qt::Key_Escape);
    QVERIFY(w.list().hasFocus());
}

void RolloutsTest::n_and_p_go_through_the_worst_tokens() {
    RolloutRun run;
    run.add(rollout_of(sum_text, 21, 1));
    run.finish(1);
    Window w(run.folder());
    QVERIFY(w.shows(1));
    const auto tokens = run.read().rollout(1).value().tokens;
    std::vector<size_t> order(tokens.ids.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return tokens.kl[a] > tokens.kl[b]; });
    for (size_t i = 0; i < 3; ++i) {
        w.key(Qt::Key_N);
        QCOMPARE(w.tokens().cursor(), std::optional<size_t>(order[i]));
        QVERIFY(w.text_of("lbl.tokens.worst").startsWith(QString("%1 of").arg(i + 1)));
        QVERIFY(w.text_of("lbl.tokens.worst").contains(QString::number(double(tokens.kl[order[i]]), 'f', 3)));
    }
    w.key(Qt::Key_P);
    QCOMPARE(w.tokens().cursor(), std::optional<size_t>(order[1]));
    w.key(Qt::Key_W); // by gap
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return std::abs(tokens.student_logprob[a] - tokens.teacher_logprob[a]) >
               std::abs(tokens.student_logprob[b] - tokens.teacher_logprob[b]);
    });
    w.key(Qt::Key_N);
    const size_t found = *w.tokens().cursor();
    QCOMPARE(std::abs(tokens.student_logprob[found] - tokens.teacher_logprob[found]),
             std::abs(tokens.student_logprob[order[0]] - tokens.teacher_logprob[order[0]]));
}

void RolloutsTest::number_keys_change_legend_and_pixels() {
    RolloutRun run;
    record::RolloutRecord rollout = rollout_of("abcdefgh", 22, 1);
    auto& tokens = rollout.tokens;
    const size_t t = 3;
    tokens.kl[t] = 1.5f;
    tokens.clipped.assign(tokens.ids.size(), 0.f);
    tokens.clipped[t] = 0.75f;
    tokens.student_logprob[t] = -0.5f;
    tokens.teacher_logprob[t] = -3.5f;
    tokens.teacher_plain_logprob[t] = -2.5f;
    tokens.student_entropy[t] = 2;
    tokens.overlap[t] = 2;
    run.add(rollout);
    run.finish(1);
    Window w(run.folder());
    QVERIFY(w.shows(1));
    w.tokens().setFocus();
    std::set<QString> legends, pixels;
    const QColor base = w.view->palette().color(QPalette::Base);
    for (int mode = 1; mode <= 6; ++mode) {
        w.key(Qt::Key_0 + mode);
        const QColor pixel = w.pixel_under(t);
        QVERIFY2(pixel != base, qPrintable(QString::number(mode)));
        QCOMPARE(pixel.rgb(), w.tokens().fill_of(t).rgb());
        pixels.insert(pixel.name());
        legends.insert(w.find<QLabel>("lbl.tokens.legend").toolTip());
    }
    QCOMPARE(legends.size(), size_t(6));
    QVERIFY(pixels.size() >= 5);
    w.key(Qt::Key_4);
    const QString student = w.find<QLabel>("lbl.tokens.legend").toolTip();
    w.key(Qt::Key_4);
    QVERIFY(w.find<QLabel>("lbl.tokens.legend").toolTip() != student); // the teacher's entropy
    w.key(Qt::Key_0);
    QCOMPARE(w.pixel_under(t), base);
}

void RolloutsTest::hover_shows_a_token_and_a_click_pins_it() {
    RolloutRun run;
    run.add(rollout_of(sum_text, 23, 1));
    run.finish(1);
    Window w(run.folder());
    QVERIFY(w.shows(1));
    const auto hover = [&](size_t token) {
        QTest::mouseMove(w.tokens().viewport(), w.tokens().rect_of(token).center());
    };
    hover(4);
    QTRY_VERIFY(w.text_of("lbl.candidates.token").contains("<b>token 4</b>"));
    w.click(6);
    QCOMPARE(w.tokens().pins(), std::vector<size_t>{6});
    QVERIFY(w.text_of("lbl.candidates.token").contains("<b>token 6</b>"));
    hover(9);
    QTRY_COMPARE(w.tokens().hovered(), std::optional<size_t>(9));
    QVERIFY(w.text_of("lbl.candidates.token").contains("<b>token 6</b>")); // held by its pin
    w.key(Qt::Key_Right);
    w.key(Qt::Key_Space);
    QCOMPARE(w.tokens().pins(), (std::vector<size_t>{6, 7}));
    QCOMPARE(w.find<QTabBar>("tabs.rollouts.bottom").tabText(3), QString("Pins 2"));
    w.key(Qt::Key_Escape);
    QCOMPARE(w.tokens().pins(), std::vector<size_t>{6});
    w.key(Qt::Key_Escape);
    QVERIFY(w.tokens().pins().empty());
    for (size_t token = 0; token < 10; ++token) {
        w.tokens().move_cursor(token);
        w.key(Qt::Key_Space);
    }
    QCOMPARE(w.tokens().pins().size(), TokenView::most_pins);
}

void RolloutsTest::candidates_show_the_recorded_kl_and_check_it() {
    RolloutRun run;
    run.add(rollout_of(sum_text, 24, 1));
    run.finish(1);
    Window w(run.folder());
    QVERIFY(w.shows(1));
    w.click(5);
    const auto record = run.read().rollout(1).value();
    const QAbstractItemModel& table = w.candidates();
    QVERIFY(table.rowCount() >= 16 && table.rowCount() <= 33);
    int sampled = 0;
    for (int row = 0; row < table.rowCount(); ++row) {
        if (!table.index(row, CandidatesModel::Mark).data().toString().startsWith('>')) continue;
        ++sampled;
        QCOMPARE(table.index(row, CandidatesModel::Id).data().toString(),
                 QString::number(record.tokens.ids[5]));
        QCOMPARE(table.index(row, CandidatesModel::LogStudent).data().toString(),
                 QString::number(double(record.tokens.student_logprob[5]), 'f', 3));
    }
    QCOMPARE(sampled, 1);
    const QString sums = w.text_of("lbl.candidates.sums");
    QVERIFY(sums.contains("recorded " + QString::number(double(record.tokens.kl[5]), 'f', 4)));
    QVERIFY(!sums.contains(QString::fromUtf8("✗")));
    QVERIFY(w.text_of("lbl.candidates.facts").contains(QString::number(double(record.tokens.kl[5]), 'f', 4)));
}

void RolloutsTest::a_rollout_without_top16_says_so_and_can_be_pinned() {
    RolloutRun run;
    run.add(rollout_of(sum_text, 25, 1, false));
    run.finish(1);
    Window w(run.folder());
    QVERIFY(w.shows(1));
    w.click(2);
    QVERIFY(w.find<QLabel>("lbl.candidates.message").isVisible());
    QVERIFY(w.text_of("lbl.candidates.message").contains("not kept"));
    w.key(Qt::Key_X);
    QTRY_VERIFY(run.read().rollout(1).value().pinned);
    QTRY_COMPARE(w.list().model()->index(0, RolloutsModel::Pin).data().toString(), QString("*"));
    QTRY_VERIFY(w.tokens().rollout()->record.pinned);
    QCOMPARE(w.tokens().cursor(), std::optional<size_t>(2)); // the reader stays where they were
    w.key(Qt::Key_X);
    QTRY_VERIFY(!run.read().rollout(1).value().pinned);
}

void RolloutsTest::search_counts_and_steps_through_hits() {
    RolloutRun run;
    run.add(rollout_of(sum_text, 26, 1));
    run.finish(1);
    Window w(run.folder());
    QVERIFY(w.shows(1));
    w.tokens().setFocus();
    w.key(Qt::Key_Slash);
    QVERIFY(w.find<QLineEdit>("fld.tokens.search").hasFocus());
    QTest::keyClicks(QApplication::focusWidget(), "42");
    QCOMPARE(w.text_of("lbl.tokens.found"), QString("1 of 2"));
    const TokenTexts& texts = w.tokens().rollout()->response;
    w.key(Qt::Key_Return);
    QCOMPARE(texts.offset[*w.tokens().cursor()], texts.bytes.find("42"));
    w.view->find_next(false);
    QCOMPARE(texts.offset[*w.tokens().cursor()], texts.bytes.rfind("42"));
    QCOMPARE(w.text_of("lbl.tokens.found"), QString("2 of 2"));
    w.view->find_next(true);
    QCOMPARE(texts.offset[*w.tokens().cursor()], texts.bytes.find("42"));
    w.key(Qt::Key_Escape);
    QVERIFY(w.tokens().hasFocus());
    QVERIFY(!w.find<QLineEdit>("fld.tokens.search").isVisible());
}

void RolloutsTest::copies_the_exact_bytes_of_a_split_character() {
    RolloutRun run;
    run.add(rollout_of("a😀b \xff\xc3(", 27, 1));
    run.finish(1);
    Window w(run.folder());
    QVERIFY(w.shows(1));
    w.click(1); // the first byte of the emoji
    w.key(Qt::Key_Escape);
    for (int i = 0; i < 3; ++i) w.key(Qt::Key_Right, Qt::ShiftModifier);
    w.view->copy(false);
    QCOMPARE(QApplication::clipboard()->mimeData()->data("text/plain"), QByteArray("😀"));
    w.view->select_all();
    w.view->copy(false);
    QCOMPARE(QApplication::clipboard()->mimeData()->data("text/plain"), QByteArray("a😀b \xff\xc3("));
}

void RolloutsTest::copies_json_of_the_selection() {
    RolloutRun run;
    run.add(rollout_of(sum_text, 28, 7));
    run.finish(7);
    Window w(run.folder());
    QVERIFY(w.shows(1));
    w.click(3);
    w.key(Qt::Key_Right, Qt::ShiftModifier);
    QApplication::clipboard()->setText("nothing yet");
    w.view->copy(true);
    const auto object = [] {
        return QJsonDocument::fromJson(QApplication::clipboard()->mimeData()->data("text/plain")).object();
    };
    QTRY_COMPARE(object()["step"].toInt(), 7);
    QCOMPARE(object()["run"].toString(), QString("inspected"));
    QCOMPARE(object()["tokens_from"].toInt(), 3);
    QCOMPARE(object()["tokens_to"].toInt(), 4);
}

void RolloutsTest::whitespace_marks_come_and_go() {
    RolloutRun run;
    run.add(rollout_of("a b\nc", 29, 1));
    run.finish(1);
    Window w(run.folder());
    QVERIFY(w.shows(1));
    w.key(Qt::Key_0);
    const QImage with = w.tokens().viewport()->grab().toImage();
    w.key(Qt::Key_V);
    const QImage without = w.tokens().viewport()->grab().toImage();
    QVERIFY(with != without);
    w.key(Qt::Key_V);
    QCOMPARE(w.tokens().viewport()->grab().toImage(), with);
}

void RolloutsTest::filter_and_step_selection_narrow_the_list() {
    RolloutRun run;
    for (int i = 0; i < 12; ++i) {
        record::RolloutRecord rollout = rollout_of("12+30=42", unsigned(i), 1 + i / 4, i % 2 == 0);
        rollout.verdict = i % 3 == 0 ? "different" : "equal";
        run.add(rollout);
    }
    run.finish(3);
    Window w(run.folder());
    QVERIFY(w.shows(12));
    const QAbstractItemModel& list = *w.list().model();
    QTRY_COMPARE(list.rowCount(), 12);
    w.type("fld.rollouts.filter", "wrong top16");
    QTRY_COMPARE(list.rowCount(), 2); // the 1st and the 7th
    QTRY_VERIFY(w.text_of("lbl.rollouts.footer").startsWith("2 of 12 rollouts"));
    QVERIFY(w.view->findChild<QWidget*>("btn.rollouts.chip1")->isVisible());
    w.type("fld.rollouts.filter", "wrong bogus");
    QTRY_VERIFY(w.find<QLabel>("lbl.rollouts.unknown").isVisible());
    QVERIFY(w.text_of("lbl.rollouts.unknown").contains("bogus"));
    QTRY_COMPARE(list.rowCount(), 4);
    w.cursor.select(StepCursor::Range{2, 2});
    QTRY_COMPARE(list.rowCount(), 1); // of rollouts 5 to 8 the 7th alone is wrong
    QCOMPARE(list.index(0, RolloutsModel::Id).data().toString(), QString("7"));
    w.actions["act.roll.clearFilters"].trigger();
    QTRY_COMPARE(list.rowCount(), 12);
    QVERIFY(!w.cursor.selection());
    w.type("fld.rollouts.filter", "kl>99");
    QTRY_VERIFY(w.find<QLabel>("lbl.rollouts.empty").isVisible());
    QVERIFY(w.text_of("lbl.rollouts.empty").contains("0 of 12 rollouts match"));
}

void RolloutsTest::every_sort_is_done_by_the_store() {
    RolloutRun run;
    for (int i = 0; i < 30; ++i)
        run.add(rollout_of(std::string(size_t(1 + (i * 7) % 30), 'a'), unsigned(i), 1));
    run.finish(1);
    StoreReader reader(run.folder());
    RolloutsModel model;
    const QAbstractItemModelTester tester(&model);
    model.show(&reader);
    QTRY_COMPARE(model.rowCount(), 30);
    model.sort(RolloutsModel::MeanKl, Qt::DescendingOrder);
    QTRY_COMPARE(model.rowCount(), 30);
    for (int row = 1; row < 30; ++row)
        QVERIFY(model.rollout(row - 1).figures.kl_mean >= model.rollout(row).figures.kl_mean);
    model.sort(RolloutsModel::Length, Qt::AscendingOrder);
    QTRY_COMPARE(model.rowCount(), 30);
    for (int row = 1; row < 30; ++row) QVERIFY(model.rollout(row - 1).length <= model.rollout(row).length);
}

void RolloutsTest::pages_are_read_as_the_list_is_scrolled() {
    RolloutRun run;
    for (int i = 0; i < 600; ++i) {
        record::RolloutRecord rollout;
        rollout.step = 1;
        rollout.tokens.ids = {1};
        run.add(rollout);
    }
    run.finish(1);
    StoreReader reader(run.folder());
    RolloutsModel model;
    model.show(&reader);
    QTRY_COMPARE(model.rowCount(), RolloutsModel::page_rows);
    QTRY_COMPARE(model.matching(), int64_t(600));
    while (model.canFetchMore({})) {
        const int rows = model.rowCount();
        model.fetchMore({});
        QTRY_VERIFY(model.rowCount() > rows);
    }
    QCOMPARE(model.rowCount(), 600);
    // The tester asks for more at every occasion, the wrong ones too: no row may come twice.
    RolloutsModel asked;
    const QAbstractItemModelTester tester(&asked);
    asked.show(&reader);
    QTRY_COMPARE(asked.rowCount(), 600);
    std::set<int64_t> ids;
    for (int row = 0; row < 600; ++row) ids.insert(asked.rollout(row).id);
    QCOMPARE(ids.size(), size_t(600));
}

void RolloutsTest::odd_texts_open() {
    const std::vector<std::string> texts{"",
                                         "emoji 😀 👩‍👩‍👧",
                                         "e\xcc\x81 \xcc\x81",
                                         "שלום مرحبا",
                                         std::string(4000, 'a'),
                                         "bad \xff\xfe\xe2\x96",
                                         std::string(10000, '\n')};
    RolloutRun run;
    for (size_t i = 0; i < texts.size(); ++i) run.add(rollout_of(texts[i], unsigned(40 + i), 1, false));
    run.finish(1);
    Window w(run.folder());
    for (size_t i = texts.size(); i-- > 0;) {
        QVERIFY2(w.shows(int64_t(i) + 1), qPrintable(QString::number(i)));
        QCOMPARE(w.tokens().rollout()->response.bytes, texts[i]);
        (void)w.tokens().grab();
        for (const int key : {Qt::Key_N, Qt::Key_5, Qt::Key_0, Qt::Key_1}) w.key(key);
        w.tokens().setFocus();
        for (const int key :
             {Qt::Key_End, Qt::Key_Up, Qt::Key_PageUp, Qt::Key_Home, Qt::Key_Space, Qt::Key_Down})
            w.key(key);
        w.view->select_all();
        w.view->copy(false);
        if (!texts[i].empty())
            QCOMPARE(QApplication::clipboard()->mimeData()->data("text/plain"),
                     QByteArray::fromStdString(texts[i]));
        w.key(Qt::Key_J);
    }
}

void RolloutsTest::a_long_rollout_is_laid_out_and_walked() {
    std::mt19937 random(50);
    std::vector<int32_t> ids(32768);
    for (int32_t& id : ids) id = int32_t(3 + random() % 250);
    RolloutRun run;
    record::RolloutRecord rollout;
    rollout.step = 1;
    rollout.finish_reason = "length";
    rollout.tokens.ids = ids;
    for (size_t t = 0; t < ids.size(); ++t) rollout.tokens.kl.push_back(float(random() % 4096) / 1024);
    run.add(rollout);
    run.finish(1);
    Window w(run.folder());
    QVERIFY(w.shows(1));
    const auto kl = run.read().rollout(1).value().tokens.kl;
    const float largest = *std::max_element(kl.begin(), kl.end());
    w.key(Qt::Key_N);
    QCOMPARE(kl[*w.tokens().cursor()], largest);
    const QRect place = w.tokens().rect_of(*w.tokens().cursor());
    QVERIFY(w.tokens().viewport()->rect().contains(place));
    for (int i = 0; i < 100; ++i) w.key(Qt::Key_N); // ends at the 50th
    QVERIFY(w.text_of("lbl.tokens.worst").startsWith("50 of 50"));
    auto& minimap = w.find<TokenMinimap>("view.minimap");
    QTest::mouseClick(&minimap, Qt::LeftButton, {}, QPoint(20, minimap.height() - 2));
    QVERIFY(w.tokens().visible_tokens()->second > 32000);
    w.tokens().setFocus();
    w.key(Qt::Key_End);
    QVERIFY(w.tokens().viewport()->rect().contains(w.tokens().rect_of(32767)));
    w.view->zoom(1);
    QTRY_VERIFY(w.tokens().is_laid_out());
    const auto maxima = block_maxima(kl, 100);
    QCOMPARE(*std::max_element(maxima.begin(), maxima.end()), largest);
}

void RolloutsTest::frozen_content_stays_and_f_follows_the_newest() {
    RolloutRun run;
    run.run(1);
    for (int i = 0; i < 40; ++i) run.add(rollout_of(sum_text, unsigned(i), 1));
    Window w(run.folder());
    QVERIFY(w.shows(40));
    QTRY_VERIFY(w.source->status().driver == Driver::Elsewhere);
    QTRY_VERIFY(w.view->is_following()); // a live run is followed until someone touches something
    run.add(rollout_of(sum_text, 60, 2));
    w.source->refresh();
    QVERIFY(w.shows(41));
    auto& live = w.find<QPushButton>("btn.rollouts.live");
    QVERIFY(live.text().startsWith("LIVE"));

    QTest::keyClick(&w.list(), Qt::Key_Down); // a key in the list freezes
    QVERIFY(w.shows(40));
    QVERIFY(live.text().startsWith("FROZEN"));
    const QImage before = w.tokens().viewport()->grab().toImage();
    const int rows = w.list().model()->rowCount();
    for (int step = 3; step < 53; ++step) run.add(rollout_of(sum_text, unsigned(step), step));
    w.source->refresh();
    QTRY_VERIFY(live.text().contains("50 newer"));
    QCOMPARE(w.open_id(), 40);
    QCOMPARE(w.list().model()->rowCount(), rows);
    QCOMPARE(w.tokens().viewport()->grab().toImage(), before);
    w.key(Qt::Key_F);
    QVERIFY(w.shows(91));
    QVERIFY(live.text().startsWith("LIVE"));
}

void RolloutsTest::panels_open_and_close_by_their_keys() {
    RolloutRun run;
    record::RolloutRecord rollout = rollout_of(sum_text, 61, 1);
    rollout.prompt_ids = encoded("<|im_start|>user\nAdd.<|im_end|>\n<|im_start|>assistant\n");
    rollout.teacher_prompt_ids =
        encoded("<|im_start|>user\nAdd. Answer: 5<|im_end|>\n<|im_start|>assistant\n");
    rollout.extracted = "\\frac{10}{2}";
    rollout.gold = "5";
    run.add(rollout);
    run.finish(1);
    Window w(run.folder());
    QVERIFY(w.shows(1));
    auto& answer = w.find<QWidget>("panel.answer");
    auto& prompts = w.find<PromptsPanel>("panel.prompts");
    QVERIFY(answer.isVisible());
    QVERIFY(w.text_of("lbl.answer.text").contains("EQUAL"));
    QVERIFY(w.text_of("lbl.answer.text").contains("10/2"));
    w.key(Qt::Key_D);
    QVERIFY(prompts.isVisible());
    QVERIFY(w.text_of("lbl.prompts.headline").contains("the answer is stated once"));
    w.key(Qt::Key_D);
    QVERIFY(!prompts.isVisible());
    w.key(Qt::Key_A);
    QVERIFY(answer.isVisible());
    w.key(Qt::Key_I);
    QVERIFY(w.find<QTableView>("table.ids").isVisible());
    QCOMPARE(size_t(w.find<QTableView>("table.ids").model()->rowCount()), rollout.tokens.ids.size());
    w.key(Qt::Key_C);
    QVERIFY(!w.find<QWidget>("panel.candidates").isVisible());
    w.key(Qt::Key_M);
    QVERIFY(!w.find<QWidget>("view.minimap").isVisible());
}

void RolloutsTest::mode_without_data_says_why() {
    RolloutRun run;
    run.add(example_rollout(encoded(sum_text), 62, false, false).record);
    run.finish(1);
    Window w(run.folder());
    QVERIFY(w.shows(1));
    w.key(Qt::Key_3);
    QVERIFY(w.text_of("lbl.tokens.legend").contains("without the answer was not scored"));
    QVERIFY(!w.actions["act.roll.teacher"].isEnabled());
    QVERIFY(w.actions["act.roll.teacher"].toolTip().contains("not scored"));
}

void RolloutsTest::every_widget_a_person_uses_has_a_name_of_its_own() {
    RolloutRun run;
    run.add(rollout_of(sum_text, 63, 1));
    run.finish(1);
    Window w(run.folder());
    QVERIFY(w.shows(1));
    w.type("fld.rollouts.filter", "top16 kl>0");
    QTRY_COMPARE(w.list().model()->rowCount(), 1);
    std::set<QString> names;
    for (const QWidget* widget : w.view->findChildren<QWidget*>()) {
        if (widget->objectName().startsWith("qt_") || widget->parent()->inherits("QAbstractSpinBox"))
            continue;
        const bool interactive = widget->inherits("QAbstractButton") || widget->inherits("QComboBox") ||
                                 widget->inherits("QLineEdit") || widget->inherits("QAbstractSpinBox") ||
                                 (widget->inherits("QAbstractItemView") && !widget->inherits("QHeaderView"));
        const bool inside = widget->parent()->inherits("QComboBoxPrivateContainer") ||
                            widget->parent()->inherits("QTabBar") ||
                            widget->parent()->inherits("QLineEdit") ||
                            widget->parent()->inherits("QTableView");
        if (!interactive || inside) continue;
        QVERIFY2(!widget->objectName().isEmpty(), widget->metaObject()->className());
        QVERIFY2(names.insert(widget->objectName()).second, qPrintable(widget->objectName()));
        const auto* button = qobject_cast<const QAbstractButton*>(widget);
        QVERIFY2(!widget->accessibleName().isEmpty() || (button && !button->text().isEmpty()),
                 qPrintable(widget->objectName()));
    }
    QVERIFY(names.contains("list.rollouts") && names.contains("table.candidates"));
}

void RolloutsTest::screen_readers_get_text_cursor_and_value() {
    RolloutRun run;
    run.add(rollout_of("12+30=42\nend", 65, 1));
    run.finish(1);
    Window w(run.folder());
    QVERIFY(w.shows(1));
    QAccessibleInterface* accessible = QAccessible::queryAccessibleInterface(&w.tokens());
    QVERIFY(accessible && accessible->textInterface());
    QAccessibleTextInterface& text = *accessible->textInterface();
    QCOMPARE(text.text(0, text.characterCount()), QString("12+30=42↵end"));
    text.setCursorPosition(3);
    QCOMPARE(w.tokens().cursor(), std::optional<size_t>(3));
    QCOMPARE(text.cursorPosition(), 3);
    const float kl = w.tokens().rollout()->record.tokens.kl[3];
    QVERIFY(accessible->text(QAccessible::Value).contains(QString::number(double(kl), 'f', 3)));
    text.setSelection(0, 3, 5);
    QCOMPARE(w.tokens().selection(), std::optional(TokenRange(3, 4)));
    int start = 0, end = 0;
    text.selection(0, &start, &end);
    QCOMPARE(start, 3);
    QCOMPARE(end, 5);
    QVERIFY(!text.characterRect(3).isEmpty());
}

void RolloutsTest::looks_right_at_all_sizes_and_themes() {
    RolloutRun run;
    run.add(rollout_of(sum_text, 64, 1));
    run.finish(1);
    Window w(run.folder());
    QVERIFY(w.shows(1));
    w.key(Qt::Key_N);
    for (const QSize size : {QSize(808, 600), QSize(1280, 760), QSize(1448, 900)}) {
        w.window.resize(size);
        QTRY_VERIFY(w.tokens().is_laid_out());
        const QImage image = w.view->grab().toImage();
        QCOMPARE(image.deviceIndependentSize().toSize(), w.view->size());
        std::set<QRgb> colours;
        for (int y = 0; y < image.height(); y += 3) {
            for (int x = 0; x < image.width(); x += 3) colours.insert(image.pixel(x, y));
        }
        QVERIFY(colours.size() > 50);
    }
}

QTEST_MAIN(RolloutsTest)
#include "rollouts_test.moc"
