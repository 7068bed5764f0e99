// SPDX-License-Identifier: GPL-3.0-or-later
// Fresh weights. Each tensor (by Hugging Face's name, in the layout's order) has a Philox stream of its own:
// two uniform numbers u, v give two normal ones, sqrt(-2 ln u) cos(2 pi v) and sqrt(-2 ln u) sin(2 pi v) (Box
// and Muller, 1958), in row-major order, so that the values depend on the seed alone and not on device or
// element type.
#include "model/initial.h"

#include "base/philox.h"

#include <cmath>
#include <numbers>

namespace stillroom::model {

torch::Tensor normal(const std::vector<int64_t>& shape, double deviation, uint64_t seed, uint64_t stream) {
    auto values = torch::empty(shape, torch::kFloat32);
    float* value = values.data_ptr<float>();
    PhiloxStream random(seed, stream);
    for (int64_t i = 0; i < values.numel(); i += 2) {
        const double radius = deviation * std::sqrt(-2 * std::log(random.uniform()));
        const double angle = 2 * std::numbers::pi * random.uniform();
        value[i] = float(radius * std::cos(angle));
        if (i + 1 < values.numel()) value[i + 1] = float(radius * std::sin(angle));
    }
    return values;
}

Result<Model> random_model(const std::filesystem::path& folder, const LoadOptions& options,
                           uint64_t seed) try {
    const torch::NoGradGuard no_grad;
    Model model = model_without_weights(folder, options);
    const auto range = model.config.source.find("initializer_range");
    const double deviation =
        range != model.config.source.end() && range->is_number() ? range->get<double>() : 0.02;
    const double residual_deviation = deviation / std::sqrt(2.0 * double(model.config.layers));
    uint64_t stream = 0;
    for (const Slice& slice : model.weights.layout->slices) {
        const auto weight = model.weights.view(slice);
        for (const Slice::Part& part : slice.parts) {
            ++stream;
            if (slice.name.ends_with("norm")) {
                weight.fill_(1);
            } else if (!slice.name.ends_with("bias")) {
                const bool adds_to_residual = slice.name.ends_with(".o") || slice.name.ends_with(".down");
                weight.narrow(0, part.row, part.rows)
                    .copy_(normal({part.rows, slice.shape[1]},
                                  adds_to_residual ? residual_deviation : deviation, seed, stream));
            }
        }
    }
    return model;
} catch (const ErrorException& error) {
    return error.error();
} catch (const c10::Error& error) {
    return Error{error.what_without_backtrace(), folder.string()};
}

} // namespace stillroom::model
