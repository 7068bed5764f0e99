// SPDX-License-Identifier: GPL-3.0-or-later
#include "train/optimizer.h"

#include "base/ensure.h"

#include <algorithm>
#include <cmath>

namespace stillroom::train {

namespace {

// Elements handled at once: bounds the temporaries of the plain path to a few hundred MB.
constexpr int64_t piece = int64_t{1} << 25;

double squared_norm(const torch::Tensor& flat) {
    torch::Tensor sum = torch::zeros({}, flat.options().dtype(torch::kFloat64));
    for (int64_t at = 0; at < flat.numel(); at += piece) {
        const auto part = flat.narrow(0, at, std::min(piece, flat.numel() - at));
        sum += part.to(torch::kFloat64).square().sum();
    }
    return sum.item<double>();
}

} // namespace

AdamW::AdamW(model::Arena parameters, const formats::OptimizerSection& options, const torch::Tensor& masters)
    : parameters_(std::move(parameters)), options_(options) {
    const torch::Tensor& flat = parameters_.flat;
    const bool own_masters = flat.scalar_type() == torch::kFloat32 || flat.scalar_type() == torch::kFloat64;
    ensure(!masters.defined() ||
               (!own_masters && masters.scalar_type() == torch::kFloat32 && masters.numel() == flat.numel()),
           "masters of another size or type than the parameters need");
    masters_ = own_masters ? flat : masters.defined() ? masters : flat.to(torch::kFloat32);
    first_ = torch::zeros_like(masters_);
    second_ = torch::zeros_like(masters_);
}

UpdateReport AdamW::apply(torch::Tensor& gradients, double lr) {
    const torch::NoGradGuard no_grad;
    ensure(gradients.numel() == masters_.numel(), "gradients of another layout than the parameters");
    UpdateReport report;
    report.grad_norm = std::sqrt(squared_norm(gradients));
    if (!std::isfinite(report.grad_norm)) return report;
    if (options_.max_norm > 0)
        report.clip_scale = std::min(1.0, options_.max_norm / (report.grad_norm + 1e-6));
    if (report.clip_scale < 1) gradients.mul_(report.clip_scale);

    ++updates_;
    const double correction1 = 1 - std::pow(options_.beta1, double(updates_));
    const double correction2 = 1 - std::pow(options_.beta2, double(updates_));
    const double squared_size = squared_norm(masters_);
    torch::Tensor change_sum = torch::zeros({}, masters_.options().dtype(torch::kFloat64));
    for (int64_t at = 0; at < masters_.numel(); at += piece) {
        const int64_t count = std::min(piece, masters_.numel() - at);
        auto master = masters_.narrow(0, at, count);
        auto first = first_.narrow(0, at, count), second = second_.narrow(0, at, count);
        const auto gradient = gradients.narrow(0, at, count);
        first.mul_(options_.beta1).add_(gradient, 1 - options_.beta1);
        second.mul_(options_.beta2).addcmul_(gradient, gradient, 1 - options_.beta2);
        const auto root = (second / correction2).sqrt_().add_(options_.eps);
        const auto change = torch::div(first, root).mul_(-lr / correction1);
        if (options_.weight_decay != 0) change.add_(master, -lr * options_.weight_decay);
        master.add_(change);
        change_sum += change.to(torch::kFloat64).square().sum();
        if (masters_.data_ptr() != parameters_.flat.data_ptr()) {
            parameters_.flat.narrow(0, at, count).copy_(master);
        }
    }
    report.update_ratio = squared_size > 0 ? std::sqrt(change_sum.item<double>() / squared_size) : 0;
    report.applied = true;
    return report;
}

void AdamW::restore(const torch::Tensor& masters, const torch::Tensor& first, const torch::Tensor& second,
                    int64_t updates) {
    const torch::NoGradGuard no_grad;
    ensure(masters.numel() == masters_.numel() && first.numel() == first_.numel() &&
               second.numel() == second_.numel(),
           "optimizer state of another size than the parameters");
    masters_.copy_(masters);
    first_.copy_(first);
    second_.copy_(second);
    if (masters_.data_ptr() != parameters_.flat.data_ptr()) parameters_.flat.copy_(masters_);
    updates_ = updates;
}

} // namespace stillroom::train
