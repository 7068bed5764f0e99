// SPDX-License-Identifier: GPL-3.0-or-later
// A model folder's weights: one file, or shards under an index whose names must stay inside the folder.
#include "formats/safetensors.h"

#include "base/strings.h"
#include "formats/json_lines.h"

namespace stillroom::formats {

namespace fs = std::filesystem;

namespace {

// Tensor name to shard name.
Result<std::map<std::string, std::string>> read_index(const fs::path& file) {
    const auto index = read_json(file);
    if (!index) return index.error();
    const auto map = index->is_object() ? index->find("weight_map") : index->end();
    if (!index->is_object() || map == index->end() || !map->is_object()) {
        return Error{"has no weight_map from tensor names to files", file.string()};
    }
    std::map<std::string, std::string> shards;
    for (const auto& [tensor, shard] : map->items()) {
        if (!shard.is_string() || !stays_inside(shard.get_ref<const std::string&>())) {
            return Error{"weight_map: " + stillroom::quoted(tensor) + " is said to be in " +
                             stillroom::quoted(shard.dump()) +
                             ", the name of a file inside the folder is expected",
                         file.string()};
        }
        shards[tensor] = shard.get<std::string>();
    }
    if (shards.empty()) return Error{"weight_map is empty", file.string()};
    return shards;
}

} // namespace

bool stays_inside(const std::string& name) {
    const fs::path path(name);
    if (name.empty() || path.is_absolute() || !path.has_filename()) return false;
    for (const char character : name) {
        if (static_cast<unsigned char>(character) < 0x20) return false;
    }
    for (const fs::path& part : path) {
        if (part == "..") return false;
    }
    return true;
}

Result<void> WeightFiles::add(const fs::path& file) {
    auto shard = Safetensors::open(file);
    if (!shard) return shard.error();
    for (const TensorView& tensor : shard->tensors()) {
        if (find(tensor.name)) {
            return Error{"tensor " + stillroom::quoted(tensor.name, 100) +
                             " is in another file of the folder too",
                         file.string()};
        }
    }
    files_.push_back(file);
    shards_.push_back(std::make_unique<Safetensors>(*std::move(shard)));
    return {};
}

Result<WeightFiles> WeightFiles::open(const fs::path& folder) {
    const fs::path single = folder / "model.safetensors", index = folder / "model.safetensors.index.json";
    std::error_code ignored;
    if (fs::exists(single, ignored)) {
        WeightFiles weights;
        if (auto added = weights.add(single); !added) return added.error();
        return weights;
    }
    if (fs::exists(index, ignored)) return open_index(index);
    return Error{"holds neither model.safetensors nor model.safetensors.index.json", folder.string()};
}

Result<WeightFiles> WeightFiles::open_index(const fs::path& file) {
    const auto index = read_index(file);
    if (!index) return index.error();
    WeightFiles weights;
    std::map<std::string, size_t> position;
    for (const auto& [tensor, shard] : *index) {
        if (position.contains(shard)) continue;
        if (auto added = weights.add(file.parent_path() / shard); !added) return added.error();
        position[shard] = weights.shards_.size() - 1;
    }
    for (const auto& [tensor, shard] : *index) {
        if (weights.shards_[position.at(shard)]->find(tensor)) continue;
        return Error{"tensor " + stillroom::quoted(tensor, 100) + " is said to be in " + shard +
                         ", which does not hold it",
                     file.string()};
    }
    return weights;
}

std::vector<TensorView> WeightFiles::tensors() const {
    std::vector<TensorView> all;
    for (const auto& shard : shards_) all.insert(all.end(), shard->tensors().begin(), shard->tensors().end());
    return all;
}

const TensorView* WeightFiles::find(const std::string& name) const {
    for (const auto& shard : shards_) {
        if (const TensorView* tensor = shard->find(name)) return tensor;
    }
    return nullptr;
}

} // namespace stillroom::formats
