// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/rollouts/token_legend.h"

#include "ui/rollouts/token_ramp.h"

#include <QHBoxLayout>

namespace stillroom::ui {

TokenLegend::TokenLegend(QWidget* parent)
    : QWidget(parent), ramp_(new TokenRamp), text_(new QLabel), kind_(new QComboBox),
      own_(new QDoubleSpinBox) {
    setObjectName("legend.tokens");
    setAccessibleName("Legend of the token colours");
    text_->setObjectName("lbl.tokens.legend");
    text_->setMinimumWidth(40);
    text_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    kind_->setObjectName("fld.tokens.scale");
    kind_->setAccessibleName("Scale of the colours");
    kind_->setToolTip(
        "fixed, so that rollouts compare; or up to this rollout's 99th percentile; or as far as "
        "you say");
    kind_->addItems({"fixed scale", "99th percentile", "own scale"});
    own_->setObjectName("fld.tokens.scaleEnd");
    own_->setAccessibleName("End of the own scale");
    own_->setRange(0.001, 1000);
    own_->setDecimals(3);
    own_->setStepType(QAbstractSpinBox::AdaptiveDecimalStepType);
    own_->hide();
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->addWidget(ramp_, 2);
    row->addWidget(text_, 3);
    row->addWidget(own_);
    row->addWidget(kind_);
    connect(kind_, &QComboBox::currentIndexChanged, this, [this] {
        own_->setVisible(kind_->currentIndex() == Own);
        if (kind_->currentIndex() == Own) own_->setValue(scale_);
        update_scale();
        Q_EMIT scaleChanged();
    });
    connect(own_, &QDoubleSpinBox::valueChanged, this, [this] {
        update_scale();
        Q_EMIT scaleChanged();
    });
}

void TokenLegend::show_values(const ColourChoice& choice, const std::vector<float>& values) {
    // An own end is of one mode's unit.
    if (choice != choice_ && kind_->currentIndex() == Own) kind_->setCurrentIndex(Fixed);
    choice_ = choice;
    values_ = values;
    update_scale();
}

void TokenLegend::update_scale() {
    scale_ = kind_->currentIndex() == Fixed        ? fixed_scale(choice_)
             : kind_->currentIndex() == Percentile ? percentile_scale(values_, choice_)
                                                   : own_->value();
    const bool none = choice_.mode == ColourMode::None;
    const QString missing = why_missing(values_, choice_);
    ramp_->setVisible(!none && missing.isEmpty());
    kind_->setEnabled(!none && missing.isEmpty());
    const Histogram histogram = histogram_of(values_, choice_, scale_);
    ramp_->show_histogram(choice_, histogram, scale_);
    QString text;
    if (none) {
        text = QStringLiteral("no colours (1 to 6 choose)");
    } else if (!missing.isEmpty()) {
        text = values_.empty() ? QString() : QStringLiteral("hatched: ") + missing;
    } else {
        text = QStringLiteral("%1 %2: %3 tokens")
                   .arg(is_diverging(choice_) ? QStringLiteral("beyond ±") : QStringLiteral("≥"))
                   .arg(scale_text(scale_, choice_))
                   .arg(histogram.saturated);
        text += "\n" + unit_of(choice_);
        if (histogram.missing) text += QStringLiteral(", %1 without a value").arg(histogram.missing);
    }
    text_->setText(text);
    text_->setToolTip(none ? QString() : name_of(choice_) + ": " + formula_of(choice_) + "\n" + text);
    setAccessibleDescription(text_->toolTip());
}

} // namespace stillroom::ui
