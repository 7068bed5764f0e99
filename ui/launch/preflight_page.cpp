// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/launch/preflight_page.h"

#include "ui/window/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QStyledItemDelegate>
#include <QVBoxLayout>

namespace stillroom::ui {

namespace {

struct Look {
    const char* icon;
    Role role;
};
Look look_of(const QString& verdict) {
    if (verdict == "PASS") return {"tick", Role::Go};
    if (verdict == "WARN") return {"warning", Role::Wait};
    if (verdict == "FAIL") return {"cross", Role::Stop};
    return {"ring", Role::Idle};
}

/// A verdict as a mark and a word in its colour.
class VerdictDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;

protected:
    void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
        QStyledItemDelegate::initStyleOption(option, index);
        if (option->text == "-") return;
        const Look look = look_of(option->text);
        const bool selected = option->state & QStyle::State_Selected;
        const QColor shade =
            selected ? option->palette.color(QPalette::HighlightedText) : colour(look.role, option->palette);
        option->features |= QStyleOptionViewItem::HasDecoration;
        option->icon = icon(look.icon, shade);
        option->decorationSize = {14, 14};
        option->palette.setColor(QPalette::Text, shade);
    }
};

QPushButton* button(const QString& text, const char* name) {
    auto* made = new QPushButton(text);
    made->setObjectName(name);
    made->setAutoDefault(false);
    return made;
}

QLabel* wrapped(const char* name) {
    auto* label = new QLabel;
    label->setObjectName(name);
    label->setWordWrap(true);
    label->setTextFormat(Qt::PlainText);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    return label;
}

} // namespace

PreflightPage::PreflightPage(PreflightModel& model, QWidget* parent) : QWidget(parent), model_(model) {
    setObjectName("page.preflight");
    summary_ = new QLabel;
    summary_->setObjectName("lbl.preflight.summary");
    run_ = button("&Run preflight", "btn.preflight.run");
    cancel_ = button("&Cancel", "btn.preflight.cancel");
    copy_ = button("C&opy", "btn.preflight.copy");
    only_problems_ = new QCheckBox("Only pro&blems");
    only_problems_->setObjectName("chk.preflight.problems");
    auto* head = new QHBoxLayout;
    head->addWidget(summary_, 1);
    for (QWidget* each : std::initializer_list<QWidget*>{only_problems_, copy_, cancel_, run_})
        head->addWidget(each);
    notice_ = wrapped("lbl.preflight.notice");
    notice_->hide();

    problems_.setSourceModel(&model);
    problems_.setFilterRole(PreflightModel::ProblemRole);
    table_ = new QTreeView;
    table_->setObjectName("table.preflight");
    table_->setAccessibleName("Findings of the preflight");
    table_->setModel(&problems_);
    table_->setRootIsDecorated(false);
    table_->setUniformRowHeights(true);
    table_->setAlternatingRowColors(true);
    table_->setAllColumnsShowFocus(true);
    table_->setItemDelegateForColumn(PreflightModel::Verdict, new VerdictDelegate(table_));
    table_->setColumnWidth(PreflightModel::Verdict, 74);
    table_->setColumnWidth(PreflightModel::Id, 50);
    table_->setColumnWidth(PreflightModel::Title, 150);
    table_->header()->setStretchLastSection(false);
    table_->header()->setSectionResizeMode(PreflightModel::Evidence, QHeaderView::Stretch);
    table_->setColumnWidth(PreflightModel::Seconds, 48);

    title_ = wrapped("lbl.preflight.title");
    QFont font = title_->font();
    font.setBold(true);
    title_->setFont(font);
    evidence_ = wrapped("lbl.preflight.evidence");
    why_ = wrapped("lbl.preflight.why");
    fixes_ = new QHBoxLayout;
    override_ = new QWidget;
    auto* reason_row = new QHBoxLayout(override_);
    reason_row->setContentsMargins(0, 0, 0, 0);
    reason_ = new QLineEdit;
    reason_->setObjectName("fld.preflight.reason");
    reason_->setPlaceholderText("why this run is to start anyway; kept with it");
    auto* reason_label = new QLabel("Start an&yway because");
    reason_label->setBuddy(reason_);
    reason_row->addWidget(reason_label);
    reason_row->addWidget(reason_, 1);
    details_ = new QWidget;
    auto* column = new QVBoxLayout(details_);
    column->setContentsMargins(4, 4, 4, 0);
    for (QWidget* each : std::initializer_list<QWidget*>{title_, evidence_, why_}) column->addWidget(each);
    column->addLayout(fixes_);
    column->addWidget(override_);
    column->addStretch();
    details_->setMinimumHeight(132);

    auto* layout = new QVBoxLayout(this);
    layout->addLayout(head);
    layout->addWidget(notice_);
    layout->addWidget(table_, 1);
    layout->addWidget(details_);

    connect(run_, &QPushButton::clicked, this, &PreflightPage::runWanted);
    connect(cancel_, &QPushButton::clicked, this, &PreflightPage::cancelWanted);
    connect(copy_, &QPushButton::clicked, this,
            [this] { QApplication::clipboard()->setText(model_.as_text()); });
    connect(only_problems_, &QCheckBox::toggled, this,
            [this](bool on) { problems_.setFilterFixedString(on ? "true" : ""); });
    connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            &PreflightPage::show_details);
    connect(reason_, &QLineEdit::textEdited, this, [this](const QString& reason) {
        if (const auto* finding = model_.finding(chosen())) {
            model_.override_failure(finding->id, reason);
            Q_EMIT overridden();
        }
    });
    set_running(false);
    update_findings();
}

int PreflightPage::chosen() const {
    const QModelIndex current = table_->currentIndex();
    return current.isValid() ? problems_.mapToSource(current).row() : -1;
}

void PreflightPage::set_running(bool running) {
    run_->setVisible(!running);
    cancel_->setVisible(running);
    run_->setText(model_.summary() == "Not run yet" ? "&Run preflight" : "&Run again");
}

void PreflightPage::set_notice(const QString& text) {
    notice_->setText(text);
    notice_->setStyleSheet("color: " + colour(Role::Wait, palette()).name());
    notice_->setVisible(!text.isEmpty());
}

void PreflightPage::update_findings() {
    summary_->setText(model_.summary());
    if (chosen() < 0 || !model_.finding(chosen())) {
        for (int row = 0; row < model_.rowCount(); ++row) {
            const auto* finding = model_.finding(row);
            if (!finding || finding->verdict != session::Verdict::Fail) continue;
            table_->setCurrentIndex(problems_.mapFromSource(model_.index(row, 0)));
            break;
        }
    }
    show_details();
}

void PreflightPage::show_details() {
    while (QLayoutItem* item = fixes_->takeAt(0)) {
        if (item->widget()) item->widget()->deleteLater();
        delete item;
    }
    const session::Finding* finding = model_.finding(chosen());
    const bool fails = finding && finding->verdict == session::Verdict::Fail;
    override_->setVisible(fails && finding->may_be_overridden);
    if (!finding) {
        title_->setText(model_.rowCount() > 0 ? "Choose a check to see its evidence in full." : QString());
        evidence_->clear();
        why_->clear();
        return;
    }
    title_->setText(QString::fromStdString(finding->id + "  " + finding->title));
    evidence_->setText(QString::fromStdString(finding->evidence));
    why_->setText(finding->why.empty() ? QString() : "why: " + QString::fromStdString(finding->why));
    if (const QString reason = model_.reason(finding->id); reason_->text() != reason)
        reason_->setText(reason);
    int number = 0;
    for (const session::Remedy& remedy : finding->remedies) {
        const QString text = QString::fromStdString(remedy.text);
        if (remedy.key.empty()) {
            auto* advice = wrapped("lbl.preflight.advice");
            advice->setText(text);
            fixes_->addWidget(advice, 1);
            continue;
        }
        auto* fix = button(text, "");
        fix->setObjectName("btn.preflight.fix." + QString::number(++number));
        fix->setToolTip(QString::fromStdString("Sets " + remedy.key + " = " + remedy.value));
        connect(fix, &QPushButton::clicked, this, [this, remedy] {
            Q_EMIT fixWanted(QString::fromStdString(remedy.key), QString::fromStdString(remedy.value));
        });
        fixes_->addWidget(fix);
    }
    fixes_->addStretch();
}

} // namespace stillroom::ui
