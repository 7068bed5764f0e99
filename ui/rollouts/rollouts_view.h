// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/window/view.h"

namespace stillroom::ui {

class RolloutsView : public View {
    Q_OBJECT
public:
    RolloutsView(ViewContext context, QWidget* parent = nullptr) : View(context, parent) {
        setObjectName("view.rollouts");
    }
};

} // namespace stillroom::ui
