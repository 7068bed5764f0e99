// SPDX-License-Identifier: GPL-3.0-or-later
// A small Jinja: what the chat templates of language models use of it, read as Python's jinja2 does in the
// settings of Hugging Face (trim_blocks, lstrip_blocks, loop controls). Templates come from strangers:
// nothing they do reaches files or memory beyond the limits.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace stillroom::text {

/// What one rendering may use; passing any of these is an Error.
struct JinjaLimits {
    int64_t steps = 20'000'000; // evaluated expressions and statements; long strings cost by their length
    int depth = 500;            // nested evaluations, macro calls among them
    size_t text_bytes = size_t{32} << 20;      // of the output, and of any one string
    std::optional<std::tm> now = std::nullopt; // for strftime_now; the local time where not given
};

namespace jinja {
struct Program;
}

/// A parsed template. Cheap to copy; may be rendered from several threads.
class JinjaTemplate {
public:
    /// An error gives the line and what was expected there. `where` names the template in messages.
    static Result<JinjaTemplate> parse(const std::string& source, const std::string& where);

    /// The text for `variables` (an object: its keys are the template's global names).
    Result<std::string> render(const nlohmann::ordered_json& variables, const JinjaLimits& limits = {}) const;

private:
    explicit JinjaTemplate(std::shared_ptr<const jinja::Program> program) : program_(std::move(program)) {}
    std::shared_ptr<const jinja::Program> program_;
};

} // namespace stillroom::text
