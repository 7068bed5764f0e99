// SPDX-License-Identifier: GPL-3.0-or-later
#include "objective/streaming.h"

#include "base/ensure.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace stillroom::objective {

namespace {

constexpr double none = -std::numeric_limits<double>::infinity();

} // namespace

double RowState::lse() const { return m + std::log(s); }
double RowState::mean_logprob() const { return u / s - std::log(s); }

RowState tile_state(std::span<const double> x, std::span<const double> xt) {
    ensure(xt.empty() || xt.size() == x.size(), "a tile of " + std::to_string(x.size()) + " student and " +
                                                    std::to_string(xt.size()) + " teacher logits");
    RowState state;
    for (const double value : x) state.m = std::max(state.m, value);
    if (state.m == none) return {}; // never -inf minus -inf
    for (size_t v = 0; v < x.size(); ++v) {
        if (x[v] == none) continue;
        const double weight = std::exp(x[v] - state.m);
        state.s += weight;
        state.u += (x[v] - state.m) * weight;
        if (!xt.empty()) state.d += (x[v] - xt[v]) * weight;
    }
    return state;
}

RowState merge(const RowState& a, const RowState& b) {
    if (a.m == none) return b;
    if (b.m == none) return a;
    RowState merged;
    merged.m = std::max(a.m, b.m);
    for (const RowState* part : {&a, &b}) {
        const double shift = part->m - merged.m, factor = std::exp(shift);
        merged.s += factor * part->s;
        merged.u += factor * (part->u + shift * part->s);
        merged.d += factor * part->d;
    }
    return merged;
}

double kl_of(const RowState& p, double lse_q) { return p.d / p.s - (p.lse() - lse_q); }

} // namespace stillroom::objective
