// SPDX-License-Identifier: GPL-3.0-or-later
#include "teacher/teacher.h"

#include "base/ensure.h"

#include <limits>

namespace stillroom::teacher {

std::string to_string(Kind kind) {
    switch (kind) {
    case Kind::None:
        return "none";
    case Kind::Separate:
        return "separate";
    case Kind::SelfFrozen:
        return "self_frozen";
    case Kind::SelfEma:
        return "self_ema";
    case Kind::SelfLive:
        return "self_live";
    }
    return {};
}

Result<Kind> parse_kind(const std::string& name) {
    for (const Kind kind : {Kind::None, Kind::Separate, Kind::SelfFrozen, Kind::SelfEma, Kind::SelfLive}) {
        if (to_string(kind) == name) return kind;
    }
    return Error{"unknown teacher kind \"" + name +
                 "\", expected none, separate, self_frozen, self_ema or self_live"};
}

Teacher Teacher::separate(model::Model weights) {
    Teacher teacher;
    teacher.kind_ = Kind::Separate;
    teacher.own_ = std::make_shared<model::Model>(std::move(weights));
    return teacher;
}

Teacher Teacher::self_frozen(const model::Model& student) {
    Teacher teacher;
    teacher.kind_ = Kind::SelfFrozen;
    if (student.lora) {
        // The base never moves while adapters are trained: share it.
        teacher.own_ = std::make_shared<model::Model>(student);
        teacher.own_->lora.reset();
        teacher.own_->adapters = {};
    } else {
        teacher.own_ = std::make_shared<model::Model>(student.clone());
    }
    return teacher;
}

Teacher Teacher::self_ema(const model::Model& student, double decay, const torch::Tensor& masters) {
    Teacher teacher;
    teacher.kind_ = Kind::SelfEma;
    teacher.decay_ = decay;
    teacher.own_ = std::make_shared<model::Model>(student);
    model::Arena& moving = teacher.own_->trainable();
    moving.flat = moving.flat.clone();
    teacher.average_ = masters.to(torch::kFloat32, /*non_blocking=*/false, /*copy=*/true);
    return teacher;
}

Teacher Teacher::self_live(const model::Model& student) {
    Teacher teacher;
    teacher.kind_ = Kind::SelfLive;
    teacher.student_ = &student;
    return teacher;
}

const model::Model& Teacher::weights() const {
    ensure(own_ || student_, "a teacher without weights");
    return student_ ? *student_ : *own_;
}

torch::Tensor Teacher::hidden(const model::Pack& pack, const torch::Tensor& rows) const {
    const torch::NoGradGuard no_grad;
    const model::Model& model = weights();
    return model::forward(model, pack.ids, pack.positions, model::causal_attention(pack, model.config))
        .index_select(0, rows);
}

void Teacher::after_update(const torch::Tensor& masters) {
    if (kind_ != Kind::SelfEma) return;
    const torch::NoGradGuard no_grad;
    average_.mul_(decay_).add_(masters, 1 - decay_);
    own_->trainable().flat.copy_(average_);
}

double Teacher::ema_distance(const torch::Tensor& masters) const {
    if (kind_ != Kind::SelfEma) return std::numeric_limits<double>::quiet_NaN();
    return ((masters - average_).norm() / masters.norm()).item<double>();
}

void Teacher::restore_average(const torch::Tensor& average) {
    ensure(kind_ == Kind::SelfEma, "only an averaged teacher has an average to restore");
    const torch::NoGradGuard no_grad;
    average_.copy_(average);
    own_->trainable().flat.copy_(average_);
}

} // namespace stillroom::teacher
