// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/checkpoints.h"

#include "base/files.h"
#include "record/queries.h"
#include "record/store.h"

#include <sys/stat.h>

namespace stillroom::session {

namespace fs = std::filesystem;

namespace {

double modified(const fs::path& file) {
    struct stat status {};
    return ::stat(file.c_str(), &status) == 0 ? double(status.st_mtim.tv_sec) : 0;
}

CheckpointFacts facts_of(const fs::path& run, const record::CheckpointRecord& record) {
    CheckpointFacts facts;
    facts.record = record;
    facts.folder = run / record.folder;
    std::error_code ignored;
    facts.on_disk = fs::exists(facts.folder / "stillroom.json", ignored);
    facts.pinned = fs::exists(facts.folder / "pinned", ignored);
    facts.saved = modified(facts.folder / "stillroom.json");
    for (const auto& entry : fs::directory_iterator(facts.folder, ignored))
        if (entry.path().extension() == ".safetensors")
            facts.weights_bytes += int64_t(entry.file_size(ignored));
    return facts;
}

Result<CheckpointFacts> checkpoint_of(const record::RunReader& reader, const fs::path& run, int64_t step) {
    auto records = reader.checkpoints();
    if (!records) return records.error();
    for (const auto& record : *records)
        if (record.step == step && !record.removed) return facts_of(run, record);
    return Error{"no checkpoint of step " + std::to_string(step), run.string(), ""};
}

} // namespace

Result<std::vector<CheckpointFacts>> checkpoint_facts(const fs::path& run) {
    auto reader = record::RunReader::open(run);
    if (!reader) return reader.error();
    auto records = reader->checkpoints();
    if (!records) return records.error();
    std::vector<CheckpointFacts> facts;
    for (const auto& record : *records) facts.push_back(facts_of(run, record));
    return facts;
}

Result<void> pin_checkpoint(const fs::path& run, int64_t step, bool pinned) {
    auto reader = record::RunReader::open(run);
    if (!reader) return reader.error();
    auto checkpoint = checkpoint_of(*reader, run, step);
    if (!checkpoint) return checkpoint.error();
    if (!checkpoint->on_disk)
        return Error{"the checkpoint is no longer there", checkpoint->folder.string(), ""};
    const fs::path mark = checkpoint->folder / "pinned";
    if (pinned) {
        if (auto written = write_file(mark, ""); !written) return written;
    } else {
        std::error_code code;
        fs::remove(mark, code);
        if (code) return Error{"cannot be removed: " + code.message(), mark.string(), ""};
    }
    return record::RunStore::set_checkpoint_pinned(run, step, pinned);
}

Result<void> delete_checkpoint(const fs::path& run, int64_t step) {
    auto reader = record::RunReader::open(run);
    if (!reader) return reader.error();
    auto summary = reader->summary();
    if (!summary) return summary.error();
    auto checkpoint = checkpoint_of(*reader, run, step);
    if (!checkpoint) return checkpoint.error();
    const std::string name = "checkpoint " + std::to_string(step);
    if (checkpoint->pinned) return Error{name + " is pinned", run.string(), "unpin it first"};
    if (record::is_live(summary->state))
        return Error{"a process works on the run; its rule alone removes checkpoints meanwhile", run.string(),
                     "stop it first"};
    const auto whole = record::checkpoints_on_disk(run);
    if (summary->state != record::RunState::Finished && whole.size() == 1 && whole.front() == step)
        return Error{name + " is the only one from which this run can be resumed", run.string(), ""};

    // Renamed first: a crash in the middle of removing never leaves half a checkpoint under its name.
    const fs::path doomed = checkpoint->folder.string() + ".removed";
    std::error_code code;
    fs::rename(checkpoint->folder, doomed, code);
    if (code && checkpoint->on_disk)
        return Error{"cannot be removed: " + code.message(), checkpoint->folder.string(), ""};
    if (auto marked = record::RunStore::set_checkpoint_removed(run, step); !marked) {
        fs::rename(doomed, checkpoint->folder, code);
        return marked;
    }
    fs::remove_all(doomed, code);
    if (code) return Error{"cannot be removed: " + code.message(), doomed.string(), ""};
    return {};
}

} // namespace stillroom::session
