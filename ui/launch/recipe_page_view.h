// SPDX-License-Identifier: GPL-3.0-or-later
// One page of fields, which scrolls, and the help of the field that has the focus.
#pragma once

#include "ui/launch/recipe_field.h"

#include <QScrollArea>

namespace stillroom::ui {

class RecipePageView : public QWidget {
    Q_OBJECT
public:
    RecipePageView(RecipeDraft& draft, int page, QWidget* parent);

    void show_texts();
    void show_notes();
    /// Puts the focus on a field, if it stands here.
    void focus(const std::string& key);

private:
    RecipeDraft& draft_;
    int page_;
    QScrollArea* area_;
    QLabel *formula_ = nullptr, *general_, *help_;
    std::vector<RecipeField*> fields_;
};

} // namespace stillroom::ui
