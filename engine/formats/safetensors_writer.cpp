// SPDX-License-Identifier: GPL-3.0-or-later
#include "formats/safetensors.h"

#include "base/strings.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

namespace stillroom::formats {

namespace fs = std::filesystem;

namespace {

Result<void> check_writable(std::span<const TensorView> tensors, const fs::path& file) {
    std::set<std::string_view> names;
    for (const TensorView& tensor : tensors) {
        const std::string called = "tensor " + stillroom::quoted(tensor.name, 100);
        if (!is_utf8(tensor.name) || tensor.name == "__metadata__") {
            return Error{called + " cannot be called so in a safetensors file", file.string()};
        }
        if (!names.insert(tensor.name).second) return Error{called + " is given twice", file.string()};
        const auto elements = elements_of(tensor.shape);
        if (!elements || uint64_t(*elements) != tensor.bytes.size() / bytes_of(tensor.dtype) ||
            tensor.bytes.size() % bytes_of(tensor.dtype) != 0) {
            return Error{called + ": shape " + to_string(tensor.shape) + " of " + to_string(tensor.dtype) +
                             " does not fit its " + std::to_string(tensor.bytes.size()) + " bytes",
                         file.string()};
        }
    }
    return {};
}

std::string shard_name(size_t shard, size_t count) {
    char name[64];
    std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", shard + 1, count);
    return name;
}

} // namespace

Result<void> write_safetensors(const fs::path& file, std::span<const TensorView> tensors,
                               const std::map<std::string, std::string>& metadata) {
    if (auto checked = check_writable(tensors, file); !checked) return checked;
    std::vector<const TensorView*> order;
    for (const TensorView& tensor : tensors) order.push_back(&tensor);
    // Wide elements first, so that every tensor is aligned to its element without padding.
    std::ranges::stable_sort(order, std::greater<>(),
                             [](const TensorView* tensor) { return bytes_of(tensor->dtype); });

    nlohmann::ordered_json header = nlohmann::ordered_json::object();
    if (!metadata.empty()) header["__metadata__"] = metadata;
    uint64_t offset = 0;
    for (const TensorView* tensor : order) {
        header[tensor->name] = {{"dtype", to_string(tensor->dtype)},
                                {"shape", tensor->shape},
                                {"data_offsets", {offset, offset + tensor->bytes.size()}}};
        offset += tensor->bytes.size();
    }
    std::string text;
    try {
        text = header.dump();
    } catch (const nlohmann::json::exception&) {
        return Error{"metadata is not UTF-8", file.string()};
    }
    text.append((8 - text.size() % 8) % 8, ' ');
    const uint64_t length = text.size();

    auto writer = FileWriter::create(file);
    if (!writer) return writer.error();
    if (auto done = writer->write(&length, sizeof length); !done) return done;
    if (auto done = writer->write(text.data(), text.size()); !done) return done;
    for (const TensorView* tensor : order) {
        if (auto done = writer->write(tensor->bytes.data(), tensor->bytes.size()); !done) return done;
    }
    return writer->finish();
}

Result<void> write_weights(const fs::path& folder, std::span<const TensorView> tensors,
                           const std::map<std::string, std::string>& metadata, uint64_t shard_bytes) {
    std::map<std::string, std::string> labelled = metadata;
    labelled.try_emplace("format", "pt"); // transformers refuses files that do not say so
    std::vector<std::span<const TensorView>> shards;
    uint64_t total = 0;
    for (size_t begin = 0; begin < tensors.size();) {
        size_t end = begin;
        uint64_t bytes = 0;
        while (end < tensors.size() && (end == begin || bytes + tensors[end].bytes.size() <= shard_bytes)) {
            bytes += tensors[end++].bytes.size();
        }
        shards.push_back(tensors.subspan(begin, end - begin));
        total += bytes;
        begin = end;
    }
    if (shards.size() <= 1) return write_safetensors(folder / "model.safetensors", tensors, labelled);

    if (auto checked = check_writable(tensors, folder); !checked) return checked;
    nlohmann::json weight_map = nlohmann::json::object();
    for (size_t i = 0; i < shards.size(); ++i) {
        const std::string name = shard_name(i, shards.size());
        if (auto written = write_safetensors(folder / name, shards[i], labelled); !written) return written;
        for (const TensorView& tensor : shards[i]) weight_map[tensor.name] = name;
    }
    const nlohmann::json index{{"metadata", {{"total_size", total}}}, {"weight_map", std::move(weight_map)}};
    return write_file(folder / "model.safetensors.index.json", index.dump(2) + "\n");
}

} // namespace stillroom::formats
