// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/help.h"

#include "formats/recipe.h"

#include <QDialogButtonBox>
#include <QFile>
#include <QPushButton>
#include <QSysInfo>
#include <QTextBrowser>
#include <QTextDocument>
#include <QVBoxLayout>
#include <sqlite3.h>

namespace stillroom::ui {

QDialog* help_page(const QString& name, const QString& title, const QString& html, QWidget* parent) {
    auto* dialog = new QDialog(parent);
    dialog->setObjectName("dlg.help." + name);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(title);
    dialog->resize(760, 600);
    auto* text = new QTextBrowser;
    text->setObjectName("page.help." + name);
    text->setAccessibleName(title);
    text->setOpenExternalLinks(true);
    text->document()->setDefaultStyleSheet("td, th { padding: 2px 10px 2px 0; } h2 { margin-top: 16px; }");
    text->setHtml(html);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    buttons->button(QDialogButtonBox::Close)->setObjectName("btn.help.close");
    QObject::connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::close);
    auto* layout = new QVBoxLayout(dialog);
    layout->addWidget(text);
    layout->addWidget(buttons);
    return dialog;
}

QString tour_html() {
    return QString::fromUtf8(R"html(
<h2>What happens in a run</h2>
<p>In every step the <b>student</b> writes answers (<i>rollouts</i>) to some prompts. A <b>teacher</b> &ndash; another
model, or the student itself shown the reference solution and the verified answer &ndash; gives its probabilities at every
token of those answers. The student's weights then move so that the two agree more: by default the reverse KL divergence,
&Sigma; p<sub>S</sub> (log p<sub>S</sub> &minus; log p<sub>T</sub>), averaged over all tokens of the step.</p>
<h2>Start</h2>
<p>Press <b>Ctrl+Shift+N</b>: a sample run with two tiny models starts on this computer. It is a real run of the real
engine. <b>Ctrl+N</b> opens the dialog for a run of your own.</p>
<h2>Watch</h2>
<p><b>Ctrl+1</b> shows the charts. <b>X</b> changes their X axis, <b>Y</b> makes one logarithmic, <b>S</b> smooths, <b>T</b>
shows the numbers. A click sets the step cursor everywhere; <b>Alt+Return</b> opens the rollouts of that step.</p>
<h2>Read</h2>
<p><b>Ctrl+2</b> shows the rollouts. <b>N</b> jumps to the token where student and teacher differ most; <b>1</b> to <b>6</b>
colour the tokens by reverse KL, gap, gain, entropy, clipping and overlap; the table at the right has both models'
candidates at the cursor. <b>J</b> and <b>K</b> go through the rollouts.</p>
<h2>Control</h2>
<p><b>F8</b> pauses after the step; the weights stay where they are and the next step is the one an uninterrupted run would
have taken. <b>Shift+F8</b> stops. Nothing that was saved is ever lost: a run that was interrupted can be resumed from its
newest checkpoint.</p>
<h2>Keep</h2>
<p><b>Ctrl+Shift+H</b> lists the checkpoints, <b>Ctrl+Shift+X</b> exports one as a Hugging Face folder and checks it by
loading it again.</p>)html");
}

QString glossary_html() {
    const auto file = formats::resources_folder() / "help" / "metrics.md";
    QFile text(QString::fromStdString(file.string()));
    if (!text.open(QIODevice::ReadOnly))
        return QString("<p>%1: %2</p>").arg(text.fileName().toHtmlEscaped(), text.errorString());
    QTextDocument document;
    document.setMarkdown(QString::fromUtf8(text.readAll()));
    return document.toHtml();
}

QString keys_html(const Actions& actions) {
    QString rows;
    for (const QAction* action : actions.all()) {
        const QString key = action->shortcut().toString(QKeySequence::NativeText);
        if (key.isEmpty()) continue;
        const bool in_view = action->property("inView").toBool();
        const QString where =
            !in_view ? "everywhere"
            : action->objectName().startsWith("act.chart.") || action->objectName().startsWith("act.exp.")
                ? "charts"
                : "rollouts";
        rows += QString("<tr><td><b>%1</b></td><td>%2</td><td>%3</td></tr>")
                    .arg(key.toHtmlEscaped(), action->text().remove('&').toHtmlEscaped(), where);
    }
    return QString("<h2>Keys</h2><table><tr><th align=left>key</th><th align=left>does</th><th "
                   "align=left>where</th></tr>%1</table>"
                   "<p>Arrows move the cursor of the view that has the focus, Home and End go to its ends, "
                   "Return opens, "
                   "Escape goes back, / searches.</p>")
        .arg(rows);
}

QString diagnostics(const Engine& engine, const QString& runs_folder, const QString& config_folder) {
    QString text = QString("Stillroom %1\nQt %2\nSQLite %3\n")
                       .arg(QStringLiteral(STILLROOM_VERSION), QString::fromLatin1(qVersion()),
                            QString::fromLatin1(sqlite3_libversion()));
    for (const auto& [name, version] : engine.versions())
        text += QString::fromStdString(name) + " " + QString::fromStdString(version) + "\n";
    if (engine.state() == Engine::State::Loading) text += "engine: loading\n";
    if (engine.state() == Engine::State::Failed) text += "engine: " + engine.fault() + "\n";
    if (engine.state() == Engine::State::Ready)
        text += "device: " + QString::fromStdString(engine.device().name) + "\n";
    text += QString("system: %1, kernel %2\nruns: %3\nsettings: %4\nresources: %5\n")
                .arg(QSysInfo::prettyProductName(), QSysInfo::kernelVersion(), runs_folder, config_folder,
                     QString::fromStdString(formats::resources_folder().string()));
    return text;
}

QString about_html(const QString& diagnostics) {
    return "<h2>Stillroom</h2><p>A workbench for on-policy distillation of small language models. Free "
           "software under the "
           "GNU General Public License, version 3 or later.</p><pre>" +
           diagnostics.toHtmlEscaped() + "</pre>";
}

QString licences_html() {
    return QString::fromUtf8(
        "<h2>Licences</h2><p>Stillroom is GPL-3.0-or-later. It is linked with:</p><table>"
        "<tr><td>Qt 6 Widgets</td><td>LGPL-3.0</td></tr><tr><td>Qt Charts</td><td>GPL-3.0</td></tr>"
        "<tr><td>LibTorch</td><td>BSD-3-Clause</td></tr><tr><td>SQLite</td><td>public domain</td></tr>"
        "<tr><td>SQLiteCpp, toml++, nlohmann/json, spdlog</td><td>MIT</td></tr>"
        "<tr><td>CLI11, PCRE2</td><td>BSD-3-Clause</td></tr><tr><td>utf8proc</td><td>MIT</td></tr>"
        "<tr><td>Boost</td><td>BSL-1.0</td></tr><tr><td>OpenSSL</td><td>Apache-2.0</td></tr></table>");
}

} // namespace stillroom::ui
