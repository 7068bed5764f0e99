// SPDX-License-Identifier: GPL-3.0-or-later
// One file: an 8-byte header length, a JSON header, the data without gaps.
#include "formats/safetensors.h"

#include "base/strings.h"
#include "formats/json_lines.h"

#include <algorithm>
#include <cstring>

namespace stillroom::formats {

namespace {

constexpr uint64_t max_header_bytes = 100'000'000; // the format's own limit

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& what) {
    throw ErrorException({what, file.string()});
}

std::string tensor_called(const std::string& name) { return "tensor " + stillroom::quoted(name, 100); }

// A whole number of the header that fits in 63 bits; -1, 1.0 and 2^64 are none.
std::optional<int64_t> whole_number(const nlohmann::json& value) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > uint64_t(INT64_MAX)) return std::nullopt;
    return value.get<int64_t>();
}

const nlohmann::json& member(const nlohmann::json& entry, const char* key, const std::string& tensor,
                             const std::filesystem::path& file) {
    const auto found = entry.find(key);
    if (found == entry.end()) fail(file, tensor + " has no " + key);
    return *found;
}

DType read_dtype(const nlohmann::json& value, const std::string& tensor, const std::filesystem::path& file) {
    const auto dtype = value.is_string() ? dtype_of(value.get_ref<const std::string&>()) : std::nullopt;
    if (!dtype)
        fail(file, tensor + ": dtype is " + stillroom::quoted(value.dump()) +
                       ", a name such as \"F32\" or \"BF16\" is expected");
    return *dtype;
}

std::vector<int64_t> read_whole_numbers(const nlohmann::json& value, const char* key,
                                        const std::string& tensor, const std::filesystem::path& file) {
    if (!value.is_array()) fail(file, tensor + ": " + key + " is no list");
    std::vector<int64_t> numbers;
    for (const auto& item : value) {
        const auto number = whole_number(item);
        if (!number) {
            fail(file, tensor + ": " + key + " holds " + stillroom::quoted(item.dump()) +
                           ", a whole number of 0 to 2^63 - 1 is expected");
        }
        numbers.push_back(*number);
    }
    return numbers;
}

TensorView read_entry(const std::string& name, const nlohmann::json& entry, std::span<const std::byte> data,
                      const std::filesystem::path& file) {
    const std::string tensor = tensor_called(name);
    if (!entry.is_object()) fail(file, tensor + ": an object is expected");
    for (const auto& [key, value] : entry.items()) {
        if (key != "dtype" && key != "shape" && key != "data_offsets") {
            fail(file, tensor + " has an unknown key " + stillroom::quoted(key));
        }
    }
    TensorView view;
    view.name = name;
    view.dtype = read_dtype(member(entry, "dtype", tensor, file), tensor, file);
    view.shape = read_whole_numbers(member(entry, "shape", tensor, file), "shape", tensor, file);
    const auto offsets =
        read_whole_numbers(member(entry, "data_offsets", tensor, file), "data_offsets", tensor, file);
    if (offsets.size() != 2) {
        fail(file,
             tensor + ": data_offsets has " + std::to_string(offsets.size()) + " numbers, 2 are expected");
    }
    const int64_t begin = offsets[0], end = offsets[1];
    if (begin > end || uint64_t(end) > data.size()) {
        fail(file, tensor + " lies at bytes " + std::to_string(begin) + " to " + std::to_string(end) +
                       " of the data, which has " + std::to_string(data.size()));
    }
    const auto elements = elements_of(view.shape);
    const auto element_bytes = int64_t(bytes_of(view.dtype));
    if (!elements || *elements > INT64_MAX / element_bytes || *elements * element_bytes != end - begin) {
        fail(file, tensor + ": shape " + to_string(view.shape) + " of " + to_string(view.dtype) +
                       " does not fit its " + std::to_string(end - begin) + " bytes");
    }
    view.bytes = data.subspan(size_t(begin), size_t(end - begin));
    return view;
}

std::map<std::string, std::string> read_metadata(const nlohmann::json& value,
                                                 const std::filesystem::path& file) {
    if (!value.is_object()) fail(file, "__metadata__ is no object");
    std::map<std::string, std::string> metadata;
    for (const auto& [key, text] : value.items()) {
        if (!text.is_string()) {
            fail(file,
                 "__metadata__." + key + " is " + stillroom::quoted(text.dump()) + ", a string is expected");
        }
        metadata[key] = text.get<std::string>();
    }
    return metadata;
}

// The header's text, checked for length and its first character.
std::string_view header_of(std::span<const std::byte> bytes, const std::filesystem::path& file) {
    if (bytes.size() < 8)
        fail(file, "has " + std::to_string(bytes.size()) +
                       " bytes; a safetensors file begins with 8 for the header's length");
    uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    if (length > max_header_bytes) {
        fail(file, "the header's length is " + std::to_string(length) + ", the format allows " +
                       std::to_string(max_header_bytes) + " (is this a safetensors file?)");
    }
    if (length > bytes.size() - 8) {
        fail(file, "the header's length is " + std::to_string(length) + ", the file ends after " +
                       std::to_string(bytes.size() - 8) + " bytes of it");
    }
    const std::string_view header(reinterpret_cast<const char*>(bytes.data()) + 8, size_t(length));
    if (!header.starts_with('{'))
        fail(file, "the header must begin with {, it begins with " + stillroom::quoted(header.substr(0, 8)));
    return header;
}

// The tensors must cover the data exactly: each begins where the one before it ends.
void check_coverage(const std::vector<TensorView>& tensors, std::span<const std::byte> data,
                    const std::filesystem::path& file) {
    const std::byte* expected = data.data();
    for (const TensorView& tensor : tensors) {
        const auto distance = tensor.bytes.data() - expected;
        if (distance < 0)
            fail(file, tensor_called(tensor.name) + " overlaps the tensor before it by " +
                           std::to_string(-distance) + " bytes");
        if (distance > 0)
            fail(file, std::to_string(distance) + " bytes before " + tensor_called(tensor.name) +
                           " belong to no tensor");
        expected += tensor.bytes.size();
    }
    const auto rest = data.data() + data.size() - expected;
    if (rest > 0) fail(file, std::to_string(rest) + " bytes after the last tensor belong to none");
}

} // namespace

Result<Safetensors> Safetensors::open(const std::filesystem::path& path) {
    auto mapped = MappedFile::open(path);
    if (!mapped) return mapped.error();
    try {
        Safetensors opened(*std::move(mapped));
        const auto bytes = opened.file_.bytes();
        const std::string_view header = header_of(bytes, path);
        const auto data = bytes.subspan(8 + header.size());
        const auto entries = parse_json(header, path.string() + ": header").value();
        for (const auto& [name, entry] : entries.items()) {
            if (name == "__metadata__") {
                opened.metadata_ = read_metadata(entry, path);
            } else {
                opened.tensors_.push_back(read_entry(name, entry, data, path));
            }
        }
        // Empty tensors go before the one that begins at the same place.
        std::ranges::sort(opened.tensors_, {}, [](const TensorView& tensor) {
            return std::pair(tensor.bytes.data(), tensor.bytes.size());
        });
        check_coverage(opened.tensors_, data, path);
        for (size_t i = 0; i < opened.tensors_.size(); ++i) opened.by_name_[opened.tensors_[i].name] = i;
        return opened;
    } catch (const ErrorException& error) {
        return error.error();
    }
}

const TensorView* Safetensors::find(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

} // namespace stillroom::formats
