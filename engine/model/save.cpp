// SPDX-License-Identifier: GPL-3.0-or-later
// Saving what Hugging Face loads: fused tensors are written as their parts, which lie one after the other in
// the arena and so need no copy.
#include "base/ensure.h"
#include "base/files.h"
#include "formats/safetensors.h"
#include "model/layout.h"

namespace stillroom::model {

namespace fs = std::filesystem;

namespace {

struct StoredType {
    formats::DType dtype;
    std::string config_name; // as config.json says it
};

StoredType stored_type(torch::Dtype dtype) {
    if (dtype == torch::kBFloat16) return {formats::DType::BF16, "bfloat16"};
    if (dtype == torch::kFloat16) return {formats::DType::F16, "float16"};
    ensure(dtype == torch::kFloat32, "weights are saved in fp32, bf16 or fp16");
    return {formats::DType::F32, "float32"};
}

Result<void> write_weights_of(const Arena& weights, const fs::path& folder, torch::Dtype dtype,
                              uint64_t shard_bytes) {
    const auto flat = weights.flat.detach().to(torch::kCPU, dtype).contiguous();
    const auto* bytes = static_cast<const std::byte*>(flat.const_data_ptr());
    const size_t element = flat.element_size();
    std::vector<formats::TensorView> tensors;
    for (const Slice& slice : weights.layout->slices) {
        const int64_t row_elements = slice.count / slice.shape[0];
        for (const Slice::Part& part : slice.parts) {
            std::vector<int64_t> shape = slice.shape;
            shape[0] = part.rows;
            const auto offset = size_t(slice.offset + part.row * row_elements) * element;
            const auto count = size_t(part.rows * row_elements) * element;
            tensors.push_back(
                {part.hf_name, stored_type(dtype).dtype, std::move(shape), {bytes + offset, count}});
        }
    }
    return formats::write_weights(folder, tensors, {{"format", "pt"}},
                                  shard_bytes); // transformers asks for the format
}

/// generation_config.json as it was read; for models that came without one, what ends an answer.
nlohmann::json generation_json(const Model& model) {
    if (model.generation.source.is_object()) return model.generation.source;
    nlohmann::json json{{"_from_model_config", true}};
    if (model.config.bos_id) json["bos_token_id"] = *model.config.bos_id;
    if (!model.eos_ids().empty()) json["eos_token_id"] = model.eos_ids();
    if (model.config.pad_id) json["pad_token_id"] = *model.config.pad_id;
    return json;
}

} // namespace

Result<void> save_model(const Model& model, const Arena& weights, const fs::path& folder, torch::Dtype dtype,
                        uint64_t shard_bytes) try {
    const torch::NoGradGuard no_grad;
    const bool adapters = model.lora && weights.layout == model.adapters.layout;
    ensure(adapters || weights.layout == model.weights.layout,
           "the values are of the model's own parameters");
    const auto done = adapters ? write_weights_of(merged_weights(model, weights), folder, dtype, shard_bytes)
                               : write_weights_of(weights, folder, dtype, shard_bytes);
    if (!done) return done;
    const auto config = formats::to_config_json(model.config, stored_type(dtype).config_name);
    if (const auto result = write_file(folder / "config.json", config.dump(2) + "\n"); !result) return result;
    if (const auto result =
            write_file(folder / "generation_config.json", generation_json(model).dump(2) + "\n");
        !result) {
        return result;
    }
    return model.tokenizer ? model.tokenizer->save(folder) : Result<void>();
} catch (const ErrorException& error) {
    return error.error();
} catch (const c10::Error& error) {
    return Error{error.what_without_backtrace(), folder.string()};
}

Result<void> save_model(const Model& model, const fs::path& folder, torch::Dtype dtype,
                        uint64_t shard_bytes) {
    return save_model(model, model.trainable(), folder, dtype, shard_bytes);
}

} // namespace stillroom::model
