// SPDX-License-Identifier: GPL-3.0-or-later
// The training pass: autograd within one layer at a time, stitched by hand, so that what is kept between the
// forward and the backward pass is this file's choice.
#include "base/ensure.h"
#include "model/decoder.h"
#include "model/layers.h"

#include <ATen/Context.h>

namespace stillroom::model {

namespace {

/// LibTorch's fused attention sums its gradients in a fixed order only while this global switch is on. It is
/// on for no longer than attention runs, since other operations refuse to run under it.
class FixedSummationOrder {
public:
    explicit FixedSummationOrder(const torch::Tensor& q) {
        // Other types and head sizes are computed without the fused kernels, whose order is fixed anyway.
        active_ =
            q.is_cuda() && q.scalar_type() != torch::kFloat64 && q.size(-1) % 8 == 0 && q.size(-1) <= 256;
        if (!active_) return;
        at::Context& context = at::globalContext();
        was_on_ = context.deterministicAlgorithms();
        only_warned_ = context.deterministicAlgorithmsWarnOnly();
        filled_ = context.deterministicFillUninitializedMemory();
        context.setDeterministicAlgorithms(true, false);
        context.setDeterministicFillUninitializedMemory(false);
    }
    FixedSummationOrder(const FixedSummationOrder&) = delete;
    FixedSummationOrder& operator=(const FixedSummationOrder&) = delete;
    ~FixedSummationOrder() {
        if (!active_) return;
        at::globalContext().setDeterministicAlgorithms(was_on_, only_warned_);
        at::globalContext().setDeterministicFillUninitializedMemory(filled_);
    }

private:
    bool active_ = false, was_on_ = false, only_warned_ = false, filled_ = true;
};

torch::Tensor leaf(const torch::Tensor& value) { return value.detach().requires_grad_(true); }

/// The leaves that stand for trainable parameters while one piece of the graph is recorded.
class Leaves {
public:
    explicit Leaves(const Model& model) : trainable_(model.trainable()) {}

    torch::Tensor of(const Arena& arena, const std::string& name) {
        const Slice& slice = arena.layout->at(name);
        const auto view = arena.view(slice);
        if (arena.layout != trainable_.layout) return view; // LoRA: the base is frozen
        leaves_.emplace_back(&slice, leaf(view));
        return leaves_.back().second;
    }
    void add_gradients_to(Arena& gradients) const {
        for (const auto& [slice, leaf] : leaves_) {
            if (leaf.grad().defined()) gradients.view(*slice).add_(leaf.grad());
        }
    }

private:
    const Arena& trainable_;
    std::vector<std::pair<const Slice*, torch::Tensor>> leaves_;
};

/// One layer's graph in its three pieces. Each piece starts from leaves of its own, so that the pieces are
/// run backward one after the other, by hand.
struct LayerGraph {
    Leaves leaves;
    torch::Tensor input;               // leaf [T, d]
    Projected projected, attended_of;  // the results of project, and the leaves that attention starts from
    torch::Tensor attended, finish_of; // the result of attention, and the leaf that finish starts from
    torch::Tensor output;              // [T, d]
};

} // namespace

struct TrainingPass::State {
    const Model& model;
    Pack pack;
    Recompute recompute;
    Attention attention;
    Rotary rotary;

    std::vector<torch::Tensor> inputs; // Recompute::Layer: each layer's [T, d]
    std::vector<LayerGraph> graphs;    // Recompute::None: each layer's
    torch::Tensor rows;                // [N]
    std::optional<Leaves> norm_leaves;
    torch::Tensor norm_input, hidden; // leaf and result of the final norm, [N, d]
    bool ran = false;

    torch::Tensor attend(int64_t layer, const Projected& of) const {
        const FixedSummationOrder fixed(of.q);
        return attention(layer, of.q, of.k, of.v);
    }

    LayerGraph record(int64_t layer, const torch::Tensor& x) const {
        const torch::AutoGradMode recording(true);
        LayerGraph graph{Leaves(model), leaf(x), {}, {}, {}, {}, {}};
        const auto weights = layer_weights(model, layer, [&](const Arena& arena, const std::string& name) {
            return graph.leaves.of(arena, name);
        });
        graph.projected = project(model.config, weights, rotary, graph.input);
        graph.attended_of = {leaf(graph.projected.q), leaf(graph.projected.k), leaf(graph.projected.v)};
        graph.attended = attend(layer, graph.attended_of);
        graph.finish_of = leaf(graph.attended);
        graph.output = finish(model.config, weights, graph.input, graph.finish_of);
        return graph;
    }

    /// Gradient by the layer's input; adds those by its parameters to `gradients`.
    static torch::Tensor backward(const LayerGraph& graph, const torch::Tensor& d_output, Arena& gradients) {
        graph.output.backward(d_output);
        {
            const FixedSummationOrder fixed(graph.projected.q);
            graph.attended.backward(graph.finish_of.grad());
        }
        torch::autograd::backward(
            {graph.projected.q, graph.projected.k, graph.projected.v},
            {graph.attended_of.q.grad(), graph.attended_of.k.grad(), graph.attended_of.v.grad()});
        graph.leaves.add_gradients_to(gradients);
        return graph.input.grad();
    }
};

TrainingPass::TrainingPass(const Model& model, Pack pack, Recompute recompute) {
    Attention attention = causal_attention(pack, model.config);
    Rotary rotary = rotary_tables(model, pack.positions);
    state_ = std::shared_ptr<State>(new State{
        model, std::move(pack), recompute, std::move(attention), std::move(rotary), {}, {}, {}, {}, {}, {}});
}

torch::Tensor TrainingPass::forward(const torch::Tensor& rows) {
    State& state = *state_;
    ensure(!state.rows.defined(), "a training pass runs forward once");
    const Model& model = state.model;
    const torch::AutoGradMode recording(state.recompute == Recompute::None);
    const Lookup view = [](const Arena& arena, const std::string& name) { return arena.view(name); };
    torch::Tensor x = model.weights.view("embedding").index_select(0, state.pack.ids);
    for (int64_t layer = 0; layer < model.config.layers; ++layer) {
        if (state.recompute == Recompute::None) {
            state.graphs.push_back(state.record(layer, x));
            x = state.graphs.back().output.detach();
        } else {
            state.inputs.push_back(x);
            const LayerWeights weights = layer_weights(model, layer, view);
            const Projected projected = project(model.config, weights, state.rotary, x);
            x = finish(model.config, weights, x, state.attend(layer, projected));
        }
    }
    state.rows = rows;
    const torch::AutoGradMode recording_norm(true);
    state.norm_leaves.emplace(model);
    state.norm_input = leaf(x.index_select(0, rows));
    state.hidden =
        rms_norm(state.norm_input, state.norm_leaves->of(model.weights, "final_norm"), model.config.norm_eps);
    return state.hidden.detach();
}

void TrainingPass::backward(const torch::Tensor& d_hidden, Arena& gradients) {
    State& state = *state_;
    ensure(state.rows.defined() && !state.ran, "a training pass runs backward once, after forward");
    ensure(gradients.layout == state.model.trainable().layout,
           "gradients are of the parameters that are trained");
    state.ran = true;
    state.hidden.backward(d_hidden.to(state.hidden.scalar_type()));
    state.norm_leaves->add_gradients_to(gradients);
    const auto d_rows = state.norm_input.grad();
    torch::Tensor dx =
        d_rows.new_zeros({state.pack.tokens(), d_rows.size(1)}).index_add(0, state.rows, d_rows);

    for (int64_t layer = state.model.config.layers - 1; layer >= 0; --layer) {
        if (state.recompute == Recompute::None) {
            dx = State::backward(state.graphs.back(), dx, gradients);
            state.graphs.pop_back();
        } else {
            dx = State::backward(state.record(layer, state.inputs.back()), dx, gradients);
            state.inputs.pop_back();
        }
    }
    if (state.model.lora) return;
    // Ids repeat, and sums must not depend on timing: on a GPU only index_put_ sorts them first.
    auto embedding = gradients.view("embedding");
    dx = dx.to(embedding.scalar_type());
    if (dx.is_cuda()) {
        embedding.index_put_({state.pack.ids}, dx, /*accumulate=*/true);
    } else {
        embedding.index_add_(0, state.pack.ids, dx);
    }
}

} // namespace stillroom::model
