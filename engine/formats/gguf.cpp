// SPDX-License-Identifier: GPL-3.0-or-later
// Reading the header, the metadata and the tensor table. Every count and length is compared with what is left
// of the file before anything is allocated.
#include "formats/gguf.h"

#include "base/strings.h"
#include "formats/gguf_types.h"
#include "formats/tensors.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <sstream>

namespace stillroom::formats {

static_assert(std::endian::native == std::endian::little, "files are little-endian and are read as they lie");

namespace {

constexpr uint64_t max_array = 1 << 24;   // elements; the largest vocabularies have some 2^18
constexpr uint64_t max_key_bytes = 65535; // the format's own limit
constexpr uint64_t max_alignment = 1 << 20;
constexpr uint32_t max_dimensions = 4;
constexpr uint64_t least_key_bytes = 8 + 4 + 1;        // length, type, the smallest value
constexpr uint64_t least_tensor_bytes = 8 + 4 + 4 + 8; // length of the name, dimensions, type, offset

enum ValueType : uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64 };

// Reads forwards through the file; throws the Error where it ends too early.
class Cursor {
public:
    Cursor(std::span<const std::byte> bytes, std::string where) : bytes_(bytes), where_(std::move(where)) {}

    uint64_t position() const { return position_; }
    uint64_t left() const { return bytes_.size() - position_; }

    template <typename T>
    T number(const std::string& what) {
        T value;
        std::memcpy(&value, take(sizeof value, what).data(), sizeof value);
        return value;
    }
    std::string text(const std::string& what, uint64_t most = UINT64_MAX) {
        const auto length = number<uint64_t>(what);
        if (length > most)
            fail(what + " has a length of " + std::to_string(length) + " bytes, at most " +
                 std::to_string(most) + " are allowed");
        const auto bytes = take(length, what);
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }
    std::string name(const std::string& what, uint64_t most) {
        std::string read = text(what, most);
        if (!is_utf8(read)) fail(what + " " + stillroom::quoted(read) + " is not UTF-8");
        return read;
    }
    [[noreturn]] void fail(const std::string& what) const { throw ErrorException({what, where_}); }

private:
    std::span<const std::byte> take(uint64_t count, const std::string& what) {
        if (count > left()) {
            fail("the file ends at byte " + std::to_string(bytes_.size()) + " inside " + what +
                 ", which needs " + std::to_string(count) + " bytes from byte " + std::to_string(position_));
        }
        const auto taken = bytes_.subspan(position_, count);
        position_ += count;
        return taken;
    }

    std::span<const std::byte> bytes_;
    std::string where_;
    uint64_t position_ = 0;
};

bool read_bool(Cursor& cursor, const std::string& what) {
    const auto byte = cursor.number<uint8_t>(what);
    if (byte > 1) cursor.fail(what + " is a bool of " + std::to_string(byte) + ", 0 or 1 is expected");
    return byte == 1;
}

template <typename T, typename Read>
GgufArray read_elements(Cursor& cursor, const std::string& what, uint64_t count, uint64_t least_bytes,
                        Read read) {
    if (count > max_array || count > cursor.left() / least_bytes) {
        cursor.fail(what + " is said to be an array of " + std::to_string(count) + " elements; " +
                    std::to_string(cursor.left()) + " bytes of the file are left, and at most " +
                    std::to_string(max_array) + " elements are read");
    }
    std::vector<T> elements;
    elements.reserve(count);
    for (uint64_t i = 0; i < count; ++i) elements.push_back(read());
    return elements;
}

GgufArray read_array(Cursor& cursor, const std::string& what) {
    const auto type = cursor.number<uint32_t>(what);
    const auto count = cursor.number<uint64_t>(what);
    const auto numbers = [&]<typename Stored, typename Wide>(Stored, Wide) {
        return read_elements<Wide>(cursor, what, count, sizeof(Stored),
                                   [&] { return Wide(cursor.number<Stored>(what)); });
    };
    switch (type) {
    case U8:
        return numbers(uint8_t{}, uint64_t{});
    case U16:
        return numbers(uint16_t{}, uint64_t{});
    case U32:
        return numbers(uint32_t{}, uint64_t{});
    case U64:
        return numbers(uint64_t{}, uint64_t{});
    case I8:
        return numbers(int8_t{}, int64_t{});
    case I16:
        return numbers(int16_t{}, int64_t{});
    case I32:
        return numbers(int32_t{}, int64_t{});
    case I64:
        return numbers(int64_t{}, int64_t{});
    case F32:
        return numbers(float{}, double{});
    case F64:
        return numbers(double{}, double{});
    case Bool:
        return read_elements<bool>(cursor, what, count, 1, [&] { return read_bool(cursor, what); });
    case String:
        return read_elements<std::string>(cursor, what, count, 8, [&] { return cursor.text(what); });
    case Array:
        cursor.fail(what + " is an array of arrays, which is not supported");
    default:
        cursor.fail(what + " is an array of elements of type " + std::to_string(type) +
                    ", 0 to 12 is expected");
    }
}

GgufValue read_value(Cursor& cursor, const std::string& what) {
    const auto type = cursor.number<uint32_t>(what);
    switch (type) {
    case U8:
        return uint64_t{cursor.number<uint8_t>(what)};
    case U16:
        return uint64_t{cursor.number<uint16_t>(what)};
    case U32:
        return uint64_t{cursor.number<uint32_t>(what)};
    case U64:
        return cursor.number<uint64_t>(what);
    case I8:
        return int64_t{cursor.number<int8_t>(what)};
    case I16:
        return int64_t{cursor.number<int16_t>(what)};
    case I32:
        return int64_t{cursor.number<int32_t>(what)};
    case I64:
        return cursor.number<int64_t>(what);
    case F32:
        return double{cursor.number<float>(what)};
    case F64:
        return cursor.number<double>(what);
    case Bool:
        return read_bool(cursor, what);
    case String:
        return cursor.text(what);
    case Array:
        return read_array(cursor, what);
    default:
        cursor.fail(what + " has a value of type " + std::to_string(type) + ", 0 to 12 is expected");
    }
}

uint32_t read_version(Cursor& cursor) {
    const auto magic = cursor.number<uint32_t>("the magic");
    if (magic != 0x46554747) cursor.fail("does not begin with GGUF (is this a GGUF file?)");
    const auto version = cursor.number<uint32_t>("the version");
    if (version == 0x02000000 || version == 0x03000000)
        cursor.fail("is big-endian, only little-endian files are read");
    if (version != 2 && version != 3)
        cursor.fail("is of GGUF version " + std::to_string(version) + ", 2 or 3 is expected");
    return version;
}

uint64_t read_count(Cursor& cursor, const std::string& what, uint64_t least_bytes) {
    const auto count = cursor.number<uint64_t>("the number of " + what);
    if (count > cursor.left() / least_bytes) {
        cursor.fail("is said to hold " + std::to_string(count) + " " + what + ", for which its " +
                    std::to_string(cursor.left()) + " further bytes cannot suffice");
    }
    return count;
}

uint64_t read_alignment(const std::map<std::string, GgufValue>& metadata, const Cursor& cursor) {
    const auto found = metadata.find("general.alignment");
    if (found == metadata.end()) return 32; // the format's rule
    const auto* alignment = std::get_if<uint64_t>(&found->second);
    if (!alignment || !std::has_single_bit(*alignment) || *alignment > max_alignment) {
        cursor.fail("general.alignment is " + to_string(found->second) + ", a power of two up to " +
                    std::to_string(max_alignment) + " is expected");
    }
    return *alignment;
}

// Its bytes are set once the place of the data section is known.
GgufTensor read_tensor_entry(Cursor& cursor, uint64_t& byte_count) {
    GgufTensor tensor;
    tensor.name = cursor.name("the name of a tensor", max_key_bytes);
    const std::string what = "tensor " + stillroom::quoted(tensor.name, 100);
    const auto dimensions = cursor.number<uint32_t>(what);
    if (dimensions > max_dimensions) {
        cursor.fail(what + " has " + std::to_string(dimensions) + " dimensions, at most " +
                    std::to_string(max_dimensions) + " are read");
    }
    for (uint32_t i = 0; i < dimensions; ++i) {
        const auto size = cursor.number<uint64_t>(what);
        if (size > uint64_t(INT64_MAX)) cursor.fail(what + " has a dimension of " + std::to_string(size));
        tensor.shape.insert(tensor.shape.begin(), int64_t(size));
    }
    const auto type = cursor.number<uint32_t>(what);
    const GgufTypeFacts* facts = gguf_type_facts(type);
    if (!facts)
        cursor.fail(what + " is of type " + std::to_string(type) +
                    ", which does not exist in GGUF or was removed from it");
    tensor.type = facts->type;
    tensor.type_name = facts->name;
    tensor.offset = cursor.number<uint64_t>(what);

    const int64_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
    if (row % facts->elements != 0) {
        cursor.fail(what + " has rows of " + std::to_string(row) + ", " + tensor.type_name +
                    " needs a multiple of " + std::to_string(facts->elements));
    }
    const auto elements = elements_of(tensor.shape);
    if (!elements || *elements / facts->elements > INT64_MAX / facts->bytes) {
        cursor.fail(what + " has a shape of " + to_string(std::span<const int64_t>(tensor.shape)) +
                    ", which overflows");
    }
    byte_count = uint64_t(*elements / facts->elements * facts->bytes);
    return tensor;
}

void check_overlap(const std::vector<GgufTensor>& tensors, const Cursor& cursor) {
    std::vector<const GgufTensor*> order;
    for (const GgufTensor& tensor : tensors) order.push_back(&tensor);
    std::ranges::sort(
        order, {}, [](const GgufTensor* tensor) { return std::pair(tensor->offset, tensor->bytes.size()); });
    for (size_t i = 1; i < order.size(); ++i) {
        if (order[i - 1]->offset + order[i - 1]->bytes.size() > order[i]->offset) {
            cursor.fail("the tensors " + stillroom::quoted(order[i - 1]->name, 100) + " and " +
                        stillroom::quoted(order[i]->name, 100) + " overlap");
        }
    }
}

} // namespace

Result<Gguf> Gguf::open(const std::filesystem::path& path) try {
    auto mapped = MappedFile::open(path);
    if (!mapped) return mapped.error();
    Gguf opened(*std::move(mapped));
    const auto bytes = opened.file_.bytes();
    Cursor cursor(bytes, path.string());

    opened.version_ = read_version(cursor);
    const uint64_t tensors = read_count(cursor, "tensors", least_tensor_bytes);
    const uint64_t keys = read_count(cursor, "metadata keys", least_key_bytes);
    for (uint64_t i = 0; i < keys; ++i) {
        const std::string key = cursor.name("metadata key " + std::to_string(i), max_key_bytes);
        const std::string what = stillroom::quoted(key, 100);
        if (!opened.metadata_.emplace(key, read_value(cursor, what)).second)
            cursor.fail("the key " + what + " appears twice");
    }
    opened.alignment_ = read_alignment(opened.metadata_, cursor);

    std::vector<uint64_t> byte_counts(tensors);
    for (uint64_t i = 0; i < tensors; ++i) {
        opened.tensors_.push_back(read_tensor_entry(cursor, byte_counts[i]));
        const std::string& name = opened.tensors_.back().name;
        if (!opened.by_name_.emplace(name, i).second)
            cursor.fail("the tensor " + stillroom::quoted(name, 100) + " appears twice");
    }

    const uint64_t mask = opened.alignment_ - 1;
    opened.data_start_ = (cursor.position() + mask) & ~mask;
    const uint64_t data_bytes = bytes.size() > opened.data_start_ ? bytes.size() - opened.data_start_ : 0;
    for (uint64_t i = 0; i < tensors; ++i) {
        GgufTensor& tensor = opened.tensors_[i];
        const std::string what = "tensor " + stillroom::quoted(tensor.name, 100);
        if ((tensor.offset & mask) != 0) {
            cursor.fail(what + " lies at offset " + std::to_string(tensor.offset) +
                        ", which is no multiple of the alignment " + std::to_string(opened.alignment_));
        }
        if (tensor.offset > data_bytes || byte_counts[i] > data_bytes - tensor.offset) {
            cursor.fail(what + " needs " + std::to_string(byte_counts[i]) + " bytes at offset " +
                        std::to_string(tensor.offset) + " of the data, which has " +
                        std::to_string(data_bytes));
        }
        if (byte_counts[i] > 0)
            tensor.bytes = bytes.subspan(opened.data_start_ + tensor.offset, byte_counts[i]);
    }
    check_overlap(opened.tensors_, cursor);
    return opened;
} catch (const ErrorException& error) {
    return error.error();
}

const GgufTensor* Gguf::find(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

std::string to_string(const GgufValue& value) {
    const auto array = [](const GgufArray& elements) {
        return std::visit(
            [](const auto& list) {
                using Element = typename std::decay_t<decltype(list)>::value_type;
                const char* kind = std::is_same_v<Element, std::string> ? "strings"
                                   : std::is_same_v<Element, bool>      ? "bools"
                                                                        : "numbers";
                return std::to_string(list.size()) + " " + kind;
            },
            elements);
    };
    if (const auto* text = std::get_if<std::string>(&value)) return stillroom::quoted(*text);
    if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
    if (const auto* elements = std::get_if<GgufArray>(&value)) return array(*elements);
    if (const auto* whole = std::get_if<uint64_t>(&value)) return std::to_string(*whole);
    if (const auto* whole = std::get_if<int64_t>(&value)) return std::to_string(*whole);
    std::ostringstream stream;
    stream << std::get<double>(value);
    return stream.str();
}

} // namespace stillroom::formats
