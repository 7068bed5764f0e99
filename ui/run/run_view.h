// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/window/view.h"

namespace stillroom::ui {

class RunView : public View {
    Q_OBJECT
public:
    RunView(ViewContext context, QWidget* parent = nullptr) : View(context, parent) {
        setObjectName("view.run");
    }
};

} // namespace stillroom::ui
