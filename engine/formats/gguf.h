// SPDX-License-Identifier: GPL-3.0-or-later
// GGUF version 3 (and 2), little-endian: metadata, tensors, and their values as fp32.
#pragma once

#include "base/files.h"
#include "base/result.h"
#include "formats/model_config.h"

#include <map>
#include <variant>

namespace stillroom::formats {

/// The tensor types that can be read; others are refused by name when their values are asked for.
enum class GgufType { F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q6_K, Other };

struct GgufTensor {
    std::string name;
    GgufType type = GgufType::Other;
    std::string type_name;      // "Q4_1"; also of types that cannot be read
    std::vector<int64_t> shape; // row-major, slowest first (the reverse of the file's ne)
    uint64_t offset = 0;        // in the data section
    std::span<const std::byte> bytes;
};

using GgufArray = std::variant<std::vector<int64_t>, std::vector<uint64_t>, std::vector<double>,
                               std::vector<bool>, std::vector<std::string>>;
using GgufValue = std::variant<int64_t, uint64_t, double, bool, std::string, GgufArray>;

class Gguf {
public:
    static Result<Gguf> open(const std::filesystem::path& file);

    uint32_t version() const { return version_; }
    const std::map<std::string, GgufValue>& metadata() const { return metadata_; }
    const std::vector<GgufTensor>& tensors() const { return tensors_; }
    const GgufTensor* find(const std::string& name) const;
    const std::filesystem::path& path() const { return file_.path(); }

    uint64_t alignment() const { return alignment_; }
    uint64_t data_start() const { return data_start_; } // bytes before the data section

    /// Values in fp32, row-major, as stored (values_of gives Hugging Face's row order).
    static Result<std::vector<float>> values(const GgufTensor& tensor);

private:
    explicit Gguf(MappedFile file) : file_(std::move(file)) {}
    MappedFile file_;
    uint32_t version_ = 0;
    uint64_t alignment_ = 32, data_start_ = 0;
    std::map<std::string, GgufValue> metadata_;
    std::vector<GgufTensor> tensors_;
    std::map<std::string, size_t> by_name_;
};

/// "3", "\"text\"", "49152 strings": a value for messages and listings.
std::string to_string(const GgufValue& value);

/// The decoder that the metadata describes (general.architecture llama, qwen2, qwen3).
Result<ModelConfig> model_config_of(const Gguf& file);

/// That every tensor of the decoder is there in its shape and a type that can be read, and none beside them.
Result<void> check_model(const Gguf& file, const ModelConfig& config);

/// The tensor that Hugging Face calls `name` ("model.layers.0.self_attn.q_proj.weight"), in Hugging Face's
/// row order: the rows of q and k of llama files are un-permuted.
Result<std::vector<float>> values_of(const Gguf& file, const ModelConfig& config, const std::string& name);

} // namespace stillroom::formats
