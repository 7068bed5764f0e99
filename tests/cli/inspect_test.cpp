// SPDX-License-Identifier: GPL-3.0-or-later
// What `inspect` makes of every file of the malformed sets, in this process, so that a sanitizer watches.
#include "app/cli/inspect_report.h"
#include "base/files.h"
#include "base/philox.h"
#include "tests/cli/program.h"

#include <algorithm>

namespace stillroom::cli {
namespace {

TEST(InspectReport, refuses_every_malformed_file_in_one_line_and_reads_every_sound_one) {
    size_t refused = 0, sound = 0;
    for (const std::string folder : {"models/malformed/", "gguf/malformed/"}) {
        for (const auto& item : test::read_json(test::golden(folder + "manifest.json"))) {
            const auto report = inspected(test::golden(folder + item["file"].get<std::string>()));
            const bool expected = item["expected"] == "ok";
            EXPECT_EQ(bool(report), expected)
                << item["file"] << ": " << item["problem"] << (report ? "" : report.error().message());
            ++(expected ? sound : refused);
            if (report) continue;
            const std::string message = report.error().message();
            EXPECT_NE(message.find("malformed/"), std::string::npos)
                << message; // names the file or its folder
            EXPECT_EQ(std::ranges::count(message, '\n'), 0) << message;
        }
    }
    // golden/README.md: 72 and 53 files, nine of them sound.
    EXPECT_EQ(refused, 116u);
    EXPECT_EQ(sound, 9u);
}

/// `content` with a few bytes replaced, or cut.
std::string damaged(std::string content, PhiloxStream& random) {
    if (random.next() % 4 == 0) return content.substr(0, random.next() % content.size());
    // Headers are where a reader can be misled: most hits go there.
    const size_t reach = random.next() % 4 == 0 ? content.size() : std::min<size_t>(content.size(), 4096);
    for (uint32_t hits = 1 + random.next() % 8; hits > 0; --hits)
        content[random.next() % reach] = char(random.next() & 255);
    return content;
}

TEST(InspectReport, survives_files_with_bytes_replaced_or_cut_off) {
    const test::TemporaryFolder folder;
    PhiloxStream random(11, 1);
    size_t refused = 0;
    for (const std::string name :
         {"gguf/tiny-llama.gguf", "gguf/tiny-qwen3.gguf", "models/qwen3-tied/model.safetensors",
          "models/qwen3-tied/config.json", "models/llama-smol-sharded/model.safetensors.index.json"}) {
        const std::string content = read_file(test::golden(name)).value();
        const auto file = folder / std::filesystem::path(name).filename().string();
        for (int round = 0; round < 150; ++round) {
            std::ofstream(file, std::ios::binary) << damaged(content, random);
            refused += !inspected(file); // a crash or a hang is the failure that this looks for
        }
    }
    EXPECT_GT(refused, 100u);
}

} // namespace
} // namespace stillroom::cli
