// SPDX-License-Identifier: GPL-3.0-or-later
// A model folder's weights: one file, or shards under an index whose names must stay inside the folder.
#include "formats/safetensors.h"

#include "base/strings.h"
#include "formats/json_lines.h"

#include <set>

namespace stillroom::formats {

namespace fs = std::filesystem;

namespace {

// A shard is named by a relative path without "..": an index must not reach outside its folder.
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

Result<WeightFiles> WeightFiles::open(const fs::path& folder) {
    WeightFiles weights;
    const auto add = [&](const fs::path& file) -> Result<void> {
        auto shard = Safetensors::open(file);
        if (!shard) return shard.error();
        for (const TensorView& tensor : shard->tensors()) {
            if (weights.find(tensor.name)) {
                return Error{"tensor " + stillroom::quoted(tensor.name, 100) +
                                 " is in another file of the folder too",
                             file.string()};
            }
        }
        weights.files_.push_back(file);
        weights.shards_.push_back(std::make_unique<Safetensors>(*std::move(shard)));
        return {};
    };

    const fs::path single = folder / "model.safetensors",
                   index_file = folder / "model.safetensors.index.json";
    std::error_code ignored;
    if (fs::exists(single, ignored)) {
        if (auto added = add(single); !added) return added.error();
        return weights;
    }
    if (!fs::exists(index_file, ignored)) {
        return Error{"holds neither model.safetensors nor model.safetensors.index.json", folder.string()};
    }
    const auto index = read_index(index_file);
    if (!index) return index.error();
    std::set<std::string> names;
    for (const auto& [tensor, shard] : *index) names.insert(shard);
    for (const std::string& name : names) {
        if (auto added = add(folder / name); !added) return added.error();
    }
    for (const auto& [tensor, shard] : *index) {
        const auto position = size_t(std::distance(names.begin(), names.find(shard)));
        if (!weights.shards_[position]->find(tensor)) {
            return Error{"tensor " + stillroom::quoted(tensor, 100) + " is said to be in " + shard +
                             ", which does not hold it",
                         index_file.string()};
        }
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
