// SPDX-License-Identifier: GPL-3.0-or-later
#include "formats/safetensors.h"
#include "tests/support/golden.h"

#include <algorithm>
#include <csignal>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace stillroom::formats {

namespace {

std::span<const std::byte> bytes_of_text(std::string_view text) { return std::as_bytes(std::span(text)); }

TensorView floats(const std::string& name, std::vector<int64_t> shape, std::span<const float> values) {
    return {name, DType::F32, std::move(shape), std::as_bytes(values)};
}

// A file with this header text and this many zero bytes of data.
std::filesystem::path hand_made(const std::filesystem::path& file, const std::string& header,
                                size_t data_bytes) {
    std::ofstream stream(file, std::ios::binary);
    const uint64_t length = header.size();
    stream.write(reinterpret_cast<const char*>(&length), sizeof length);
    stream << header << std::string(data_bytes, '\0');
    return file;
}

void expect_same(const TensorView& a, const TensorView& b) {
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.dtype, b.dtype) << a.name;
    EXPECT_EQ(a.shape, b.shape) << a.name;
    EXPECT_TRUE(std::ranges::equal(a.bytes, b.bytes)) << a.name;
}

} // namespace

TEST(Safetensors, every_malformed_file_is_refused_and_every_sound_one_read) {
    size_t refused = 0, read = 0;
    for (const auto& item : test::read_json(test::golden("models/malformed/manifest.json"))) {
        const auto file = test::golden("models/malformed/" + item["file"].get<std::string>());
        const bool sound = item["expected"] == "ok";
        std::optional<Error> fault;
        if (item["kind"] == "safetensors") {
            const auto opened = Safetensors::open(file);
            if (!opened) fault = opened.error();
        } else if (item["kind"] == "index") {
            const auto opened = WeightFiles::open(file.parent_path());
            if (!opened) fault = opened.error();
        } else {
            continue;
        }
        EXPECT_EQ(!fault, sound) << file << ": " << item["problem"] << ": "
                                 << (fault ? fault->message() : "accepted");
        (fault ? refused : read) += 1;
        if (!fault) continue;
        EXPECT_NE(fault->message().find("malformed/" + item["file"].get<std::string>().substr(0, 10)),
                  std::string::npos)
            << fault->message();
        EXPECT_EQ(fault->message().find('\n'), std::string::npos) << fault->message();
        EXPECT_LT(fault->message().size(), 500u) << fault->message();
    }
    EXPECT_EQ(refused, 36u);
    EXPECT_EQ(read, 3u);
}

TEST(Safetensors, scalars_empty_tensors_and_metadata_are_read) {
    const auto file = Safetensors::open(test::golden("models/malformed/st-ok-scalar-empty.safetensors"));
    ASSERT_TRUE(file) << file.error().message();
    EXPECT_FALSE(file->metadata().empty());
    bool scalar = false, empty = false;
    for (const TensorView& tensor : file->tensors()) {
        scalar |= tensor.shape.empty() && tensor.bytes.size() == bytes_of(tensor.dtype);
        empty |= !tensor.shape.empty() && tensor.bytes.empty();
        EXPECT_EQ(file->find(tensor.name), &tensor);
    }
    EXPECT_TRUE(scalar);
    EXPECT_TRUE(empty);
    EXPECT_EQ(file->find("absent"), nullptr);
}

TEST(Safetensors, a_folder_with_shards_holds_what_its_index_lists) {
    const auto weights = WeightFiles::open(test::golden("models/llama-smol-sharded"));
    ASSERT_TRUE(weights) << weights.error().message();
    const auto index =
        test::read_json(test::golden("models/llama-smol-sharded/model.safetensors.index.json"));
    EXPECT_EQ(weights->files().size(), 5u);
    EXPECT_EQ(weights->tensors().size(), index["weight_map"].size());
    uint64_t total = 0;
    for (const auto& [name, shard] : index["weight_map"].items()) {
        const TensorView* tensor = weights->find(name);
        ASSERT_NE(tensor, nullptr) << name;
        total += tensor->bytes.size();
    }
    EXPECT_EQ(total, index["metadata"]["total_size"].get<uint64_t>());
}

TEST(Safetensors, a_folder_without_weights_is_an_error) {
    test::TemporaryFolder folder;
    EXPECT_FALSE(WeightFiles::open(folder.path()));
    EXPECT_FALSE(WeightFiles::open(folder / "absent"));
}

TEST(Safetensors, a_tensor_in_two_shards_is_an_error) {
    test::TemporaryFolder folder;
    const std::vector<float> values{1, 2};
    const std::vector<TensorView> first{floats("a", {2}, values)},
        second{floats("b", {2}, values), floats("a", {2}, values)};
    write_safetensors(folder / "one.safetensors", first, {}).value();
    write_safetensors(folder / "two.safetensors", second, {}).value();
    std::ofstream(folder / "model.safetensors.index.json")
        << R"({"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}})";
    const auto weights = WeightFiles::open(folder.path());
    ASSERT_FALSE(weights);
    EXPECT_NE(weights.error().message().find("\"a\""), std::string::npos) << weights.error().message();
}

TEST(Safetensors, what_is_written_is_read_back_alike) {
    test::TemporaryFolder folder;
    const std::vector<float> matrix{1.5f, -2, 3, 4, 5, 6}, scalar{7};
    const std::vector<uint16_t> halves{0x3f80, 0xc000, 0x7f80};
    const std::vector<TensorView> tensors{{"odd", DType::U8, {3}, bytes_of_text("abc")},
                                          floats("matrix", {2, 3}, matrix),
                                          floats("a scalar é", {}, scalar),
                                          {"empty", DType::I64, {0, 4}, {}},
                                          {"halves", DType::BF16, {3}, std::as_bytes(std::span(halves))}};
    write_safetensors(folder / "x.safetensors", tensors, {{"format", "pt"}, {"note", "a \"b\""}}).value();
    const auto read = Safetensors::open(folder / "x.safetensors");
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->tensors().size(), tensors.size());
    EXPECT_EQ(read->metadata(), (std::map<std::string, std::string>{{"format", "pt"}, {"note", "a \"b\""}}));
    for (const TensorView& tensor : tensors) {
        const TensorView* found = read->find(tensor.name);
        ASSERT_NE(found, nullptr) << tensor.name;
        expect_same(*found, tensor);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(found->bytes.data()) % bytes_of(tensor.dtype), 0u)
            << tensor.name;
    }
}

TEST(Safetensors, a_model_is_split_into_shards_that_pass_the_limit_only_for_one_tensor) {
    test::TemporaryFolder folder;
    const auto source = WeightFiles::open(test::golden("models/llama-smol-sharded"));
    const auto tensors = source->tensors();
    write_weights(folder.path(), tensors, {}, 60'000).value();
    EXPECT_FALSE(std::filesystem::exists(folder / "model.safetensors"));
    const auto read = WeightFiles::open(folder.path());
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_GT(read->files().size(), 5u);
    EXPECT_EQ(read->tensors().size(), tensors.size());
    for (const TensorView& tensor : tensors) expect_same(*read->find(tensor.name), tensor);
    for (const auto& file : read->files()) {
        const auto shard = Safetensors::open(file);
        EXPECT_EQ(shard->metadata().at("format"), "pt"); // transformers asks for it
        uint64_t bytes = 0;
        for (const TensorView& tensor : shard->tensors()) bytes += tensor.bytes.size();
        EXPECT_TRUE(bytes <= 60'000 || shard->tensors().size() == 1) << file;
    }
}

TEST(Safetensors, a_model_below_the_limit_is_one_file) {
    test::TemporaryFolder folder;
    const auto source = WeightFiles::open(test::golden("models/qwen2-tied"));
    write_weights(folder.path(), source->tensors(), {}, 1 << 30).value();
    EXPECT_TRUE(std::filesystem::exists(folder / "model.safetensors"));
    EXPECT_FALSE(std::filesystem::exists(folder / "model.safetensors.index.json"));
    const auto read = WeightFiles::open(folder.path());
    for (const TensorView& tensor : source->tensors()) expect_same(*read->find(tensor.name), tensor);
}

TEST(Safetensors, what_cannot_be_written_is_refused_before_anything_is) {
    test::TemporaryFolder folder;
    const std::vector<float> values{1, 2};
    const std::vector<std::vector<TensorView>> faulty{{floats("a", {2}, values), floats("a", {2}, values)},
                                                      {floats("a", {3}, values)},
                                                      {floats("a", {-1, -2}, values)},
                                                      {floats("__metadata__", {2}, values)},
                                                      {floats("\xff", {2}, values)}};
    for (const auto& tensors : faulty) {
        EXPECT_FALSE(write_safetensors(folder / "x.safetensors", tensors, {}));
        EXPECT_FALSE(std::filesystem::exists(folder / "x.safetensors"));
    }
    const std::vector<TensorView> sound{floats("a", {2}, values)};
    EXPECT_FALSE(write_safetensors(folder / "x.safetensors", sound, {{"note", "\xff"}}));
}

TEST(Safetensors, a_full_disk_is_an_error) {
    if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
    const std::vector<float> values(1024, 1);
    const std::vector<TensorView> tensors{floats("a", {1024}, values)};
    const auto written = write_safetensors("/dev/full", tensors, {});
    ASSERT_FALSE(written);
    EXPECT_NE(written.error().message().find("No space left"), std::string::npos)
        << written.error().message();
}

// A file system that fills up in the middle, as the process's own limit on file size plays it.
TEST(Safetensors, a_disk_that_fills_up_in_the_middle_leaves_no_folder) {
    test::TemporaryFolder folder;
    const std::vector<float> values(1 << 16, 1);
    const std::vector<TensorView> tensors{floats("a", {1 << 15}, std::span(values).first(1 << 15)),
                                          floats("b", {1 << 16}, values)};
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const auto ignored = signal(SIGXFSZ, SIG_IGN);
    const rlimit small{200'000, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    const auto saved = write_folder(folder / "model", [&](const std::filesystem::path& partial) {
        return write_weights(partial, tensors, {}, 100'000);
    });
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, ignored);
    EXPECT_FALSE(saved);
    EXPECT_FALSE(std::filesystem::exists(folder / "model"));
    EXPECT_FALSE(std::filesystem::exists(folder / "model.partial"));
}

TEST(Safetensors, a_shape_whose_product_overflows_before_a_zero_is_refused) {
    test::TemporaryFolder folder;
    const auto file = hand_made(
        folder / "x.safetensors",
        R"({"a":{"dtype":"F32","shape":[4294967296,4294967296,4294967296,0],"data_offsets":[0,0]}})", 0);
    EXPECT_FALSE(Safetensors::open(file));
}

TEST(Safetensors, keys_of_a_tensor_that_the_format_does_not_know_are_refused) {
    test::TemporaryFolder folder;
    const auto file = hand_made(folder / "x.safetensors",
                                R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"order":"F"}})", 4);
    const auto opened = Safetensors::open(file);
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.error().message().find("order"), std::string::npos) << opened.error().message();
}

TEST(Safetensors, types_that_are_not_read_are_named) {
    test::TemporaryFolder folder;
    const auto file =
        hand_made(folder / "x.safetensors", R"({"a":{"dtype":"F4","shape":[2],"data_offsets":[0,1]}})", 1);
    const auto opened = Safetensors::open(file);
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.error().message().find("F4"), std::string::npos) << opened.error().message();
}

TEST(Tensors, floats_come_out_of_every_floating_type) {
    const std::vector<double> doubles{1.5, -2, 0.1};
    const std::vector<uint16_t> brain{0x3fc0, 0xc000, 0x7f80}, half{0x3e00, 0xc000, 0x0001};
    const std::vector<float> expected{1.5f, -2, 0.1f};
    const TensorView wide{"w", DType::F64, {3}, std::as_bytes(std::span(doubles))};
    EXPECT_EQ(*to_floats(wide), expected);
    EXPECT_EQ(*to_floats(floats("f", {3}, expected)), expected);
    EXPECT_EQ(*to_floats({"b", DType::BF16, {3}, std::as_bytes(std::span(brain))}),
              (std::vector<float>{1.5f, -2, std::numeric_limits<float>::infinity()}));
    EXPECT_EQ(*to_floats({"h", DType::F16, {3}, std::as_bytes(std::span(half))}),
              (std::vector<float>{1.5f, -2, 0x1p-24f}));
    const auto refused = to_floats({"ids", DType::I32, {1}, bytes_of_text("abcd")});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message().find("ids"), std::string::npos);
}

TEST(Tensors, names_of_types_are_those_of_the_format) {
    for (const std::string name : {"F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U8", "BOOL",
                                   "F8_E4M3", "F8_E5M2", "U16", "U32", "U64"}) {
        ASSERT_TRUE(dtype_of(name)) << name;
        EXPECT_EQ(to_string(*dtype_of(name)), name);
    }
    EXPECT_FALSE(dtype_of("f32"));
}

} // namespace stillroom::formats
