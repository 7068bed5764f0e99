// SPDX-License-Identifier: GPL-3.0-or-later
#include "objective/case.h"

#include "base/strings.h"
#include "objective/json_tensors.h"
#include "objective/row_metrics.h"
#include "objective/rows.h"
#include "objective/step_sums.h"

#include <algorithm>
#include <cmath>

namespace stillroom::objective {

using nlohmann::json;

namespace {

[[noreturn]] void refuse(const std::string& what, const std::string& where) {
    throw ErrorException({what, where});
}

// Reads the members of an object by key, each of its type, and refuses keys that nobody has asked for.
class Fields {
public:
    Fields(const json& object, std::string name) : object_(object), name_(std::move(name)) {
        if (!object.is_object())
            refuse("expected an object, found " + std::string(object.type_name()), name_);
    }
    void read(const char* key, double& value) { read_as(key, value, &json::is_number, "a number"); }
    void read(const char* key, bool& value) { read_as(key, value, &json::is_boolean, "true or false"); }
    void read(const char* key, std::string& value) { read_as(key, value, &json::is_string, "a string"); }
    void read(const char* key, int64_t& value) {
        read_as(key, value, &json::is_number_integer, "a whole number");
    }
    const json* find(const char* key) {
        known_.emplace_back(key);
        const auto place = object_.find(key);
        return place == object_.end() || place->is_null() ? nullptr : &*place;
    }
    void refuse_others() const {
        for (const auto& [key, value] : object_.items()) {
            if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
            const std::string near = nearest(key, known_);
            refuse("unknown key \"" + key + "\"" + (near.empty() ? "" : ", nearest is \"" + near + "\""),
                   name_);
        }
    }

private:
    template <typename T>
    void read_as(const char* key, T& value, bool (json::*is)() const noexcept, const char* expected) {
        const json* found = find(key);
        if (!found) return;
        if (!(found->*is)())
            refuse("expected " + std::string(expected) + ", found " + found->dump(), name_ + "." + key);
        value = found->get<T>();
    }

    const json& object_;
    std::string name_;
    std::vector<std::string> known_;
};

formats::ObjectiveSection options_of(const json& params, double& task_coefficient) {
    formats::ObjectiveSection options;
    Fields fields(params, "params");
    if (!fields.find("objective")) refuse("no \"objective\"", "params");
    fields.read("objective", options.name);
    fields.read("T_S", options.student_temperature);
    fields.read("T_T", options.teacher_temperature);
    fields.read("beta", options.beta);
    fields.read("rescale", options.rescale);
    fields.read("direction", options.direction);
    fields.read("top_k", options.top_k);
    fields.read("t2_factor", options.t2_factor);
    fields.read("tau_min", options.tau_min);
    fields.read("log_floor", options.log_floor);
    if (const json* clamp = fields.find("clamp")) {
        Fields parts(*clamp, "params.clamp");
        parts.read("kind", options.clamp.kind);
        parts.read("c", options.clamp.c);
        parts.refuse_others();
    }
    fields.read("ratio", options.ratio);
    fields.read("ratio_cap", options.ratio_cap);
    fields.read("clip_low", options.clip_low);
    fields.read("clip_high", options.clip_high);
    fields.read("dual_clip", options.dual_clip);
    fields.read("coef", options.coef);
    fields.read("coef_task", task_coefficient);
    fields.read("reward_clip", options.reward_clip);
    fields.read("lambda", options.lambda);
    fields.read("weight", options.token_weights);
    fields.read("allow_unnormalised", options.allow_unnormalised);
    fields.find("refused_by_default"); // the golden files' remark on rules A, B and F
    fields.refuse_others();
    return options;
}

struct Case {
    Spec spec;
    RowInputs rows;
    torch::Tensor valid; // [N] bool, the mask
    double n_global = 0;
    int64_t vocab = 0; // V
};

// The inputs of `spec`, of the shapes that belong together.
RowInputs inputs_of(const Spec& spec, const json& object, int64_t& N, int64_t& V, int64_t K,
                    torch::Dtype dtype) {
    RowInputs rows;
    Fields fields(object, "inputs");
    const auto read = [&](const char* key, torch::Dtype type, std::vector<int64_t> shape, bool needed) {
        const json* values = fields.find(key);
        const std::string name = std::string("inputs.") + key;
        if (!values && needed) refuse("missing, " + to_string(spec.kind) + " reads it", name);
        if (!values) return torch::Tensor();
        auto tensor = tensor_of(*values, type, name);
        if (tensor.dim() != int64_t(shape.size()))
            refuse("expected lists " + std::to_string(shape.size()) + " deep", name);
        for (size_t i = 0; i < shape.size(); ++i) {
            if (shape[i] >= 0 && tensor.size(int64_t(i)) != shape[i]) {
                refuse("expected " + std::to_string(shape[i]) + " entries, found " +
                           std::to_string(tensor.size(int64_t(i))),
                       name);
            }
        }
        return tensor;
    };
    const Kind kind = spec.kind;
    const bool exact = kind == Kind::KlReverse || kind == Kind::KlForward || kind == Kind::Jsd;
    const bool sampled = kind == Kind::K1Pg || kind == Kind::GopdPg || kind == Kind::K2Loss;
    rows.student_logits = read("student_logits", dtype, {N, V}, true);
    N = rows.student_logits.size(0), V = rows.student_logits.size(1);
    const bool record = object.contains("topk_ids");
    rows.teacher_logits = read("teacher_logits", dtype, {N, -1}, exact || (spec.needs_record() && !record));
    if (spec.needs_record() && record) {
        TopK teacher;
        teacher.ids = read("topk_ids", torch::kInt64, {N, K}, true);
        teacher.log_probs = read("topk_logprobs", dtype, {N, teacher.ids.size(1)}, true);
        teacher.temperature = spec.options.teacher_temperature;
        const json* tail = fields.find("log_tail_mass");
        const bool none =
            !tail || (tail->is_array() &&
                      std::all_of(tail->begin(), tail->end(), [](const json& v) { return v.is_null(); }));
        if (!none) teacher.log_tail = read("log_tail_mass", dtype, {N}, true);
        rows.teacher = teacher;
    }
    rows.sampled = read("y", torch::kInt64, {N}, sampled || kind == Kind::Sft);
    rows.old_logprob = read("logp_old", dtype, {N}, false);
    rows.teacher_logprob = read("logp_teacher", dtype, {N}, sampled);
    rows.base_logprob = read("logp_base", dtype, {N}, kind == Kind::GopdPg && spec.options.lambda != 1);
    rows.task_advantage = read("task_advantage", dtype, {N}, false);
    if (kind == Kind::TopkTokenPg) {
        rows.student_topk_ids = read("student_topk_ids", torch::kInt64, {N, K}, true);
        const int64_t kept = rows.student_topk_ids.size(1);
        rows.old_topk_logprob = read("logp_old_topk", dtype, {N, kept}, true);
        rows.teacher_topk_logprob = read("logp_teacher_topk", dtype, {N, kept}, true);
    }
    return rows;
}

Case case_of(const json& item, torch::Dtype dtype) {
    Case result;
    const json *params = item.contains("params") ? &item["params"] : nullptr,
               *inputs = item.contains("inputs") ? &item["inputs"] : nullptr;
    if (!params) refuse("missing", "params");
    if (!inputs) refuse("missing", "inputs");
    double task_coefficient = 0;
    result.spec = Spec::of(options_of(*params, task_coefficient)).value();
    int64_t N = -1, V = -1, real = -1, K = -1;
    if (item.contains("shapes")) {
        Fields shapes(item["shapes"], "shapes");
        shapes.read("N", N);
        shapes.read("V", V);
        shapes.read("V_real", real);
        shapes.read("K", K);
    }
    if (K > 0) result.spec.options.top_k = K;
    result.rows = inputs_of(result.spec, *inputs, N, V, K, dtype);
    RowInputs& rows = result.rows;
    result.vocab = V;
    rows.real_vocab = real < 0 ? V : real;
    if (rows.real_vocab < 1 || rows.real_vocab > V)
        refuse("V_real " + std::to_string(real) + " of " + std::to_string(V) + " logits", "shapes.V_real");
    if (rows.teacher_logits.defined() && rows.teacher_logits.size(1) < rows.real_vocab) {
        refuse("fewer than V_real = " + std::to_string(rows.real_vocab) + " logits", "inputs.teacher_logits");
    }
    for (const auto& [name, ids] :
         {std::pair("inputs.y", rows.sampled), std::pair("inputs.student_topk_ids", rows.student_topk_ids),
          std::pair("inputs.topk_ids", rows.teacher ? rows.teacher->ids : torch::Tensor())}) {
        if (ids.defined() && ((ids < 0) | (ids >= rows.real_vocab)).any().item<bool>()) {
            refuse("an id outside 0.." + std::to_string(rows.real_vocab - 1), name);
        }
    }
    rows.task_coefficient = task_coefficient;
    if (task_coefficient != 0 && !rows.task_advantage.defined())
        refuse("missing, params.coef_task is set", "inputs.task_advantage");

    const auto by_row = [&](const char* name) {
        if (!item.contains(name)) return torch::ones({N}, dtype);
        auto values = tensor_of(item[name], dtype, name);
        if (values.dim() != 1 || values.size(0) != N)
            refuse("expected " + std::to_string(N) + " numbers", name);
        return values;
    };
    result.valid = by_row("mask") != 0;
    rows.weight = torch::where(result.valid, by_row("weights"), torch::zeros({}, dtype));
    result.n_global = result.valid.sum().item<double>();
    if (item.contains("n_global") && item["n_global"].is_number())
        result.n_global = item["n_global"].get<double>();
    if (!(result.n_global > 0)) refuse("no row counts: the step is skipped", "n_global");
    rows.scale = torch::full({N}, 1 / result.n_global, dtype);
    return result;
}

json null_if_undefined(double value) { return std::isnan(value) ? json() : json(value); }

json statistics_of(const Case& item, const RowResult& result, StepSums& sums) {
    json stats = json::object();
    // Shares are over the rows at hand; what is removed from the loss is a part of the loss.
    for (const auto& [name, value] : sums.metrics(item.valid.sum().item<int64_t>())) {
        const bool clipped = name.starts_with("clip_") || (name == "negative_token_fraction");
        const bool capped = item.spec.ratio == Ratio::Truncated || item.spec.ratio == Ratio::PpoClip;
        if (clipped || (name == "pg_clip_fraction" && capped) ||
            (name == "pg_dual_clip_fraction" && item.spec.ratio == Ratio::PpoClip) ||
            name == "pg_reward_clip_fraction") {
            stats[name] = null_if_undefined(value);
        }
    }
    if (stats.contains("clip_removed_nats")) {
        stats["clip_removed_nats"] =
            stats["clip_removed_nats"].get<double>() * item.valid.sum().item<double>() / item.n_global;
    }
    const auto list = [&](const char* name, const torch::Tensor& values) {
        if (values.defined()) stats[name] = json_of(values);
    };
    list("student_mass_topk", result.student_mass);
    list("teacher_mass_topk", result.teacher_mass);
    list("target_sum", result.target_sum);
    list("kl_head", result.kl_head);
    list("kl_tail", result.kl_tail);
    list("floor_fired", result.floor_fired);
    list("log_tau", result.log_tau);
    if (result.log_tau.defined()) {
        for (json& value : stats["log_tau"]) value = value == "-inf" ? json() : value; // there is no tail
    }
    list("advantage", result.advantage);
    list("ratio", result.ratio);
    return stats;
}

json answer_of(const Case& item) {
    const RowInputs& rows = item.rows;
    const auto result = evaluate_rows(item.spec, rows);
    json answer{{"row", json_of(result.value)}};
    if ((item.valid & ~result.defined).any().item<bool>()) {
        answer["defined"] = json_of(result.defined);
        return answer;
    }
    Columns columns;
    add_statistics(columns, result, torch::ones({}, rows.weight.options()));
    columns["counted"] = item.valid;
    columns["weight"] = rows.weight;
    columns["scale"] = rows.scale;
    std::map<std::string, std::vector<torch::Tensor>> parts;
    for (const auto& [name, values] : columns) parts[name] = {values};
    StepSums sums;
    answer["loss"] = sums.state().add(RowTable::of(parts), item.spec, rows.real_vocab);
    answer["grad"] = json_of(torch::constant_pad_nd(result.gradient, {0, item.vocab - rows.real_vocab}));
    answer["stats"] = statistics_of(item, result, sums);
    if (item.spec.kind == Kind::K1Pg || item.spec.kind == Kind::K2Loss) {
        const auto student =
            Distribution::of(rows.student_logits, rows.real_vocab, item.spec.options.student_temperature);
        const auto logprob = student.log_probs.gather(1, rows.sampled.unsqueeze(1)).squeeze(1);
        const auto k1 = (logprob - rows.teacher_logprob).to(torch::kFloat64);
        answer["k1"] = json_of(k1);
        answer["k2"] = json_of(0.5 * k1.square());
        answer["k3"] = json_of(torch::expm1(-k1) + k1);
    }
    return answer;
}

} // namespace

Result<json> evaluate_case(const json& item, Precision precision) {
    try {
        return answer_of(case_of(item, precision == Precision::Fp64 ? torch::kFloat64 : torch::kFloat32));
    } catch (const ErrorException& error) {
        return error.error();
    } catch (const c10::Error& error) {
        return Error{std::string("shapes that do not fit: ") + error.what_without_backtrace(), "inputs"};
    }
}

} // namespace stillroom::objective
