// SPDX-License-Identifier: GPL-3.0-or-later
// safetensors: read by mapping, one file or shards with an index; written whole, synced.
#pragma once

#include "base/files.h"
#include "base/result.h"
#include "formats/tensors.h"

#include <map>
#include <memory>

namespace stillroom::formats {

/// One .safetensors file. Every rule of the format is checked on opening: header length and JSON, dtypes,
/// offsets that fit the shapes, neither overlap nor hole, no name twice.
class Safetensors {
public:
    static Result<Safetensors> open(const std::filesystem::path& file);

    const std::vector<TensorView>& tensors() const { return tensors_; } // in the order of their offsets
    const TensorView* find(const std::string& name) const;
    const std::map<std::string, std::string>& metadata() const { return metadata_; }
    const std::filesystem::path& path() const { return file_.path(); }

private:
    explicit Safetensors(MappedFile file) : file_(std::move(file)) {}
    MappedFile file_;
    std::vector<TensorView> tensors_;
    std::map<std::string, size_t> by_name_;
    std::map<std::string, std::string> metadata_;
};

/// The weights of a model folder: model.safetensors, or the shards that model.safetensors.index.json names.
class WeightFiles {
public:
    static Result<WeightFiles> open(const std::filesystem::path& folder);
    /// The shards beside this index.
    static Result<WeightFiles> open_index(const std::filesystem::path& index);

    std::vector<TensorView> tensors() const;
    const TensorView* find(const std::string& name) const;
    const std::vector<std::filesystem::path>& files() const { return files_; }

private:
    Result<void> add(const std::filesystem::path& file);

    std::vector<std::filesystem::path> files_;
    std::vector<std::unique_ptr<Safetensors>> shards_;
};

/// Whether a file's name in an index or a list is a relative path that stays inside the folder ("..", "/x" do
/// not).
bool stays_inside(const std::string& name);

/// Writes one file (not atomically: callers write into a `write_folder` partial).
Result<void> write_safetensors(const std::filesystem::path& file, std::span<const TensorView> tensors,
                               const std::map<std::string, std::string>& metadata);

/// Writes model.safetensors into `folder`, or model-0000x-of-0000y.safetensors and the index where the
/// tensors together pass `shard_bytes`.
Result<void> write_weights(const std::filesystem::path& folder, std::span<const TensorView> tensors,
                           const std::map<std::string, std::string>& metadata, uint64_t shard_bytes);

} // namespace stillroom::formats
