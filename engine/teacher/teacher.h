// SPDX-License-Identifier: GPL-3.0-or-later
// The teacher: whose weights score the rollouts (objectives.md section 9). It never gets a gradient.
#pragma once

#include "model/decoder.h"
#include "model/model.h"

#include <memory>
#include <torch/torch.h>

namespace stillroom::teacher {

enum class Kind { None, Separate, SelfFrozen, SelfEma, SelfLive };
std::string to_string(Kind kind); // "none", "separate", "self_frozen", "self_ema", "self_live"
Result<Kind> parse_kind(const std::string& name);

class Teacher {
public:
    /// A teacher of its own weights.
    static Teacher separate(model::Model weights);
    /// theta_0: with LoRA the base with the adapters off, else a copy of the student as it is now.
    static Teacher self_frozen(const model::Model& student);
    /// theta_E <- decay theta_E + (1 - decay) theta after each update, kept in fp32, scored in the student's
    /// type. Starts from `masters`, the student's fp32 parameters.
    static Teacher self_ema(const model::Model& student, double decay, const torch::Tensor& masters);
    /// The student itself, as it is when it scores.
    static Teacher self_live(const model::Model& student);

    Kind kind() const { return kind_; }
    const model::Model& weights() const;

    /// Final hidden states [N, d'] at `rows` of `pack`.
    torch::Tensor hidden(const model::Pack& pack, const torch::Tensor& rows) const;

    /// Moves the average (self_ema only); call after each optimizer update. `masters` are the fp32
    /// parameters.
    void after_update(const torch::Tensor& masters);
    /// norm(theta - theta_E) / norm(theta); NaN for other kinds.
    double ema_distance(const torch::Tensor& masters) const;
    /// The average [P] fp32; undefined for other kinds.
    torch::Tensor average() const { return average_; }
    void restore_average(const torch::Tensor& average);

private:
    Kind kind_ = Kind::None;
    std::shared_ptr<model::Model> own_;     // separate, self_frozen, self_ema
    const model::Model* student_ = nullptr; // self_live
    torch::Tensor average_;
    double decay_ = 0;
};

} // namespace stillroom::teacher
