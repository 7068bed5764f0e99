// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/docks/facts_dock.h"

#include "ui/models/chart_numbers.h"

#include <QApplication>
#include <QClipboard>
#include <QFileInfo>
#include <QHeaderView>
#include <QMenu>
#include <QVBoxLayout>

namespace stillroom::ui {

namespace {

QString formula_of(const std::string& objective) {
    static const std::map<std::string, const char*> formulas{
        {"kl_reverse", "reverse KL, exact: Σ pS (log pS − log pT) over the whole vocabulary"},
        {"kl_forward", "forward KL, exact: Σ pT (log pT − log pS) over the whole vocabulary"},
        {"jsd", "generalised Jensen-Shannon divergence, exact"},
        {"topk_uniform_tail", "reverse KL to the teacher's top-k with a uniform tail"},
        {"topk_tail_bucket", "KL over the teacher's top-k and one bucket for the tail"},
        {"topk_renorm", "KL over the teacher's top-k, renormalised"},
        {"k1_pg", "policy gradient with reward log pT(y) − log pS(y) (sampled reverse KL)"},
        {"k2", "k2: ½ (log pS(y) − log pT(y))²"},
        {"topk_token_pg", "policy gradient with rewards on the student's top-k"},
        {"sft", "cross-entropy on the solutions"}};
    const auto found = formulas.find(objective);
    return found == formulas.end() ? QString::fromStdString(objective) : QString::fromUtf8(found->second);
}

QString short_path(const std::string& path) {
    const QString text = QString::fromStdString(path);
    return text.contains('/') ? QFileInfo(text).fileName() : text;
}

} // namespace

std::vector<Fact> facts_of(const RunSource& run) {
    const auto& settings = run.settings();
    const auto value = [&](const std::string& key) {
        const auto found = settings.find(key);
        return found == settings.end() ? std::string() : found->second;
    };
    const auto text = [&](const std::string& key) { return QString::fromStdString(value(key)); };
    std::vector<Fact> facts;
    const auto add = [&](const char* name, const QString& shown, const char* keys) {
        if (!shown.isEmpty()) facts.push_back({QString::fromUtf8(name), shown, QString::fromUtf8(keys)});
    };
    if (!settings.empty()) {
        add("objective", formula_of(value("objective.name")), "objective.name");
        add("clamp",
            value("objective.clamp.kind") == "none"
                ? "none"
                : text("objective.clamp.kind") + " at " + text("objective.clamp.c") + " nats",
            "objective.clamp");
        add("reduction", text("objective.reduction"), "objective.reduction");
        add("student", short_path(value("student.model")) + ", " + text("student.trainable"),
            "student.model");
        add("teacher",
            value("teacher.kind") == "separate" ? short_path(value("teacher.model"))
                                                : text("teacher.kind").replace('_', ' '),
            "teacher.kind, teacher.model");
        add("teacher sees", value("teacher.context") == "none" ? "the problem" : text("teacher.context"),
            "teacher.context");
        add("lr", text("optimizer.lr") + " " + text("optimizer.schedule"), "optimizer.lr");
        add("batch",
            text("rollout.prompts_per_step") + QString::fromUtf8(" × ") + text("rollout.samples_per_prompt") +
                ", cap " + text("rollout.max_new"),
            "rollout.prompts_per_step, rollout.samples_per_prompt, rollout.max_new");
        add("sampling",
            "T " + text("rollout.temperature") + ", top-p " + text("rollout.top_p") + ", top-k " +
                (value("rollout.top_k") == "0" ? "off" : text("rollout.top_k")),
            "rollout.temperature, rollout.top_p, rollout.top_k");
        add("seed", text("run.seed"), "run.seed");
    }
    const auto& summary = run.status().summary;
    add("recipe hash", QString::fromStdString(summary.recipe_hash).left(12), "");
    const auto& checkpoints = run.checkpoints();
    const auto kept = std::count_if(checkpoints.begin(), checkpoints.end(),
                                    [](const auto& checkpoint) { return !checkpoint.removed; });
    add("checkpoints", QString("%1 kept of %2").arg(kept).arg(checkpoints.size()), "");
    add("rollouts",
        QString("%1, %2").arg(count_text(summary.rollouts), bytes_text(double(summary.rollout_bytes))), "");
    add("top-16 kept",
        QString("%1 of %2, %3")
            .arg(count_text(summary.top16), count_text(summary.rollouts),
                 bytes_text(double(summary.top16_bytes))),
        "record.top16");
    add("folder", QString::fromStdString(run.folder().string()), "");
    return facts;
}

FactsDock::FactsDock(QWidget* parent) : QWidget(parent), list_(new QTableWidget(0, 2)) {
    list_->setObjectName("table.facts");
    list_->setAccessibleName("Run facts");
    list_->horizontalHeader()->hide();
    list_->verticalHeader()->hide();
    list_->verticalHeader()->setMinimumSectionSize(fontMetrics().height() + 4);
    list_->setShowGrid(false);
    list_->setWordWrap(true);
    list_->setAlternatingRowColors(true);
    list_->setEditTriggers(QAbstractItemView::NoEditTriggers);
    list_->setSelectionBehavior(QAbstractItemView::SelectRows);
    list_->horizontalHeader()->setSectionResizeMode(0, QHeaderView::ResizeToContents);
    list_->horizontalHeader()->setSectionResizeMode(1, QHeaderView::Stretch);
    list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    // Wrapped lines change their height with the column's width.
    connect(list_->horizontalHeader(), &QHeaderView::sectionResized, list_,
            &QTableWidget::resizeRowsToContents);
    list_->setContextMenuPolicy(Qt::CustomContextMenu);
    connect(list_, &QTableWidget::customContextMenuRequested, this, [this](const QPoint& at) {
        const int row = list_->rowAt(at.y());
        if (row < 0) return;
        auto* menu = new QMenu(this);
        menu->setAttribute(Qt::WA_DeleteOnClose);
        menu->addAction("Copy", this,
                        [text = list_->item(row, 0)->text() + ": " + list_->item(row, 1)->text()] {
                            QApplication::clipboard()->setText(text);
                        });
        menu->popup(list_->viewport()->mapToGlobal(at));
    });
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(list_);
}

void FactsDock::show_run(RunSource* run) {
    if (run_) run_->disconnect(this);
    run_ = run;
    if (run_) {
        connect(run_, &RunSource::settingsChanged, this, &FactsDock::update_facts);
        connect(run_, &RunSource::listsChanged, this, &FactsDock::update_facts);
        connect(run_, &RunSource::rolloutsChanged, this, &FactsDock::update_facts);
    }
    update_facts();
}

void FactsDock::update_facts() {
    const auto facts = run_ ? facts_of(*run_) : std::vector<Fact>{};
    list_->setRowCount(int(facts.size()));
    for (int row = 0; row < int(facts.size()); ++row) {
        const Fact& fact = facts[size_t(row)];
        for (const auto& [column, text] : {std::pair{0, fact.name}, std::pair{1, fact.value}}) {
            if (!list_->item(row, column)) list_->setItem(row, column, new QTableWidgetItem);
            list_->item(row, column)->setText(text);
            list_->item(row, column)->setTextAlignment(Qt::AlignLeft | Qt::AlignTop);
        }
        list_->item(row, 1)->setToolTip(fact.keys.isEmpty() ? fact.value : fact.value + "\n" + fact.keys);
    }
    list_->resizeRowsToContents();
}

} // namespace stillroom::ui
