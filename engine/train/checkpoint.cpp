// SPDX-License-Identifier: GPL-3.0-or-later
#include "train/checkpoint.h"

#include "base/files.h"
#include "base/hash.h"
#include "formats/json_lines.h"
#include "formats/safetensors.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace stillroom::train {

namespace fs = std::filesystem;

namespace {

constexpr int format_version = 1;

formats::TensorView view_of(const std::string& name, const torch::Tensor& tensor) {
    return {name,
            formats::DType::F32,
            tensor.sizes().vec(),
            {static_cast<const std::byte*>(tensor.data_ptr()), size_t(tensor.nbytes())}};
}

Result<void> save_engine_state(Trainer& trainer, const CheckpointNote& note, const fs::path& folder) {
    fs::create_directory(folder);
    std::vector<std::pair<std::string, torch::Tensor>> state{
        {"masters", trainer.optimizer().masters()},
        {"first_moment", trainer.optimizer().first_moment()},
        {"second_moment", trainer.optimizer().second_moment()},
    };
    if (trainer.teacher() && trainer.teacher()->average().defined())
        state.emplace_back("average", trainer.teacher()->average());
    std::vector<formats::TensorView> views;
    for (auto& [name, tensor] : state) {
        tensor = tensor.to(torch::kCPU, torch::kFloat32).contiguous();
        views.push_back(view_of(name, tensor));
    }
    if (auto written = formats::write_safetensors(folder / "state.safetensors", views, {}); !written)
        return written;
    const Counters& counters = trainer.counters();
    const data::OrderCursor cursor = trainer.order().cursor();
    const nlohmann::json counts{{"updates", trainer.optimizer().updates()},
                                {"tokens_trained", counters.tokens_trained},
                                {"sequences_trained", counters.sequences_trained},
                                {"skipped_steps", counters.skipped_steps},
                                {"data_epoch", cursor.epoch},
                                {"data_position", cursor.position},
                                {"seed", trainer.recipe().run.seed},
                                {"step", note.step}};
    return write_file(folder / "state.json", counts.dump(2));
}

int64_t size_of_folder(const fs::path& folder) {
    int64_t bytes = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.is_regular_file()) bytes += int64_t(entry.file_size());
    }
    return bytes;
}

// Hashes of every file below `folder`, and one over those of the weights.
Result<nlohmann::json> file_hashes(const fs::path& folder) {
    nlohmann::json hashes = nlohmann::json::object();
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (!entry.is_regular_file()) continue;
        auto hash = sha256_of_file(entry.path());
        if (!hash) return hash.error();
        hashes[fs::relative(entry.path(), folder).string()] = *hash;
    }
    return hashes;
}

std::string hash_of_weights(const nlohmann::json& hashes) {
    std::string all;
    for (const auto& [file, hash] : hashes.items()) { // in the order of their names
        if (file.ends_with(".safetensors") && file.find('/') == std::string::npos)
            all += hash.get<std::string>();
    }
    return all.size() == 64 ? all : sha256(all);
}

} // namespace

fs::path checkpoint_folder(const fs::path& run, int64_t step) {
    char name[32];
    std::snprintf(name, sizeof name, "step-%06lld", static_cast<long long>(step));
    return run / "checkpoints" / name;
}

bool is_pinned(const fs::path& checkpoint) { return fs::exists(checkpoint / "pinned"); }

Result<SavedCheckpoint> save_checkpoint(Trainer& trainer, const fs::path& run, const CheckpointNote& note) {
    const auto started = std::chrono::steady_clock::now();
    SavedCheckpoint saved;
    saved.folder = checkpoint_folder(run, note.step);
    std::error_code code;
    fs::create_directories(saved.folder.parent_path(), code);
    if (code) return Error{"cannot be created: " + code.message(), saved.folder.parent_path().string()};
    if (!fs::exists(saved.folder)) {
        const auto written = write_folder(saved.folder, [&](const fs::path& partial) -> Result<void> {
            if (auto done = model::save_model(trainer.student(), partial, trainer.student().dtype()); !done)
                return done;
            if (auto done = save_engine_state(trainer, note, partial / "engine"); !done) return done;
            auto hashes = file_hashes(partial);
            if (!hashes) return hashes.error();
            saved.sha256 = hash_of_weights(*hashes);
            const nlohmann::json about{{"format", format_version},
                                       {"step", note.step},
                                       {"run", note.run},
                                       {"recipe_hash", note.recipe_hash},
                                       {"base_sha256", note.base_sha256},
                                       {"weights_sha256", saved.sha256},
                                       {"wall_seconds", note.wall_seconds},
                                       {"active_seconds", note.active_seconds},
                                       {"scores", note.scores},
                                       {"files", *hashes}};
            if (auto done = write_file(partial / "stillroom.json", about.dump(2)); !done) return done;
            return sync_folder(partial / "engine");
        });
        if (!written) return written.error();
    } else {
        auto about = formats::read_json(saved.folder / "stillroom.json");
        if (!about) return about.error();
        saved.sha256 = about->value("weights_sha256", "");
    }
    saved.bytes = size_of_folder(saved.folder);
    saved.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    return saved;
}

Result<CheckpointNote> verify_checkpoint(const fs::path& checkpoint) {
    auto about = formats::read_json(checkpoint / "stillroom.json");
    if (!about) return about.error();
    try {
        if (about->at("format") != format_version) {
            return Error{"checkpoint format " + about->at("format").dump() + ", expected " +
                             std::to_string(format_version),
                         (checkpoint / "stillroom.json").string()};
        }
        for (const auto& [file, expected] : about->at("files").items()) {
            auto hash = sha256_of_file(checkpoint / file);
            if (!hash) return hash.error();
            if (*hash != expected) {
                return Error{"its SHA-256 is " + hash->substr(0, 12) + ".., stillroom.json says " +
                                 expected.get<std::string>().substr(0, 12) + "..",
                             (checkpoint / file).string()};
            }
        }
        CheckpointNote note;
        note.step = about->at("step");
        note.run = about->at("run");
        note.recipe_hash = about->at("recipe_hash");
        note.base_sha256 = about->at("base_sha256");
        note.wall_seconds = about->at("wall_seconds");
        note.active_seconds = about->at("active_seconds");
        note.scores = about->at("scores");
        return note;
    } catch (const nlohmann::json::exception& error) {
        return Error{error.what(), (checkpoint / "stillroom.json").string()};
    }
}

Result<CheckpointNote> restore_checkpoint(Trainer& trainer, const fs::path& checkpoint) {
    auto note = verify_checkpoint(checkpoint);
    if (!note) return note;
    if (note->base_sha256 != trainer.student().weights_sha256) {
        return Error{"began with other weights (" + note->base_sha256.substr(0, 12) + "..) than " +
                         trainer.student().source.string() + " now holds",
                     checkpoint.string(),
                     "put the first model back, or start a new run from this checkpoint"};
    }
    auto counts = formats::read_json(checkpoint / "engine/state.json");
    if (!counts) return counts.error();
    auto state = formats::Safetensors::open(checkpoint / "engine/state.safetensors");
    if (!state) return state.error();
    const auto tensor = [&](const char* name) {
        const auto* view = state->find(name);
        if (!view || view->dtype != formats::DType::F32) {
            throw ErrorException({std::string("no fp32 tensor \"") + name + "\"", state->path().string()});
        }
        return torch::from_blob(const_cast<std::byte*>(view->bytes.data()), {int64_t(view->bytes.size() / 4)},
                                torch::kFloat32);
    };
    try {
        const torch::NoGradGuard no_grad;
        const auto masters = tensor("masters"), first = tensor("first_moment"),
                   second = tensor("second_moment");
        if (masters.numel() != trainer.optimizer().masters().numel()) {
            return Error{"holds " + std::to_string(masters.numel()) + " parameters, the model has " +
                             std::to_string(trainer.optimizer().masters().numel()),
                         checkpoint.string()};
        }
        trainer.optimizer().restore(masters, first, second, counts->at("updates"));
        if (auto* teacher = trainer.mutable_teacher(); teacher && teacher->average().defined()) {
            teacher->restore_average(tensor("average"));
        }
        trainer.counters() = {counts->at("tokens_trained"), counts->at("sequences_trained"),
                              counts->at("skipped_steps")};
        trainer.order().set_cursor({counts->at("data_epoch"), counts->at("data_position")});
    } catch (const ErrorException& error) {
        return error.error();
    } catch (const nlohmann::json::exception& error) {
        return Error{error.what(), (checkpoint / "engine/state.json").string()};
    }
    return note;
}

std::vector<std::pair<int64_t, fs::path>> checkpoints_of(const fs::path& run) {
    std::vector<std::pair<int64_t, fs::path>> found;
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(run / "checkpoints", code)) {
        const std::string name = entry.path().filename().string();
        long long step = 0;
        int used = 0;
        if (std::sscanf(name.c_str(), "step-%lld%n", &step, &used) == 1 && used == int(name.size())) {
            found.emplace_back(step, entry.path());
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

NewestCheckpoint newest_checkpoint(const fs::path& run) {
    NewestCheckpoint newest;
    auto all = checkpoints_of(run);
    for (auto it = all.rbegin(); it != all.rend(); ++it) {
        const auto note = verify_checkpoint(it->second);
        if (note) {
            newest.folder = it->second;
            return newest;
        }
        newest.broken.push_back(note.error().message());
    }
    return newest;
}

std::map<int64_t, std::string>
kept_checkpoints(const std::vector<std::pair<int64_t, std::optional<double>>>& scores,
                 const std::vector<int64_t>& pinned, int64_t keep_last, int64_t keep_best) {
    std::map<int64_t, std::string> kept;
    const auto keep = [&](int64_t step, const std::string& why) {
        std::string& reason = kept[step];
        reason += (reason.empty() ? "" : ", ") + why;
    };
    for (const int64_t step : pinned) keep(step, "pinned");
    auto ordered = scores;
    std::sort(ordered.begin(), ordered.end());
    for (int64_t i = 0; i < std::min<int64_t>(keep_last, int64_t(ordered.size())); ++i) {
        keep(ordered[ordered.size() - 1 - size_t(i)].first, "last");
    }
    std::erase_if(ordered, [](const auto& entry) { return !entry.second; });
    std::stable_sort(ordered.begin(), ordered.end(),
                     [](const auto& a, const auto& b) { return *a.second > *b.second; });
    for (size_t i = 0; i < ordered.size() && int64_t(i) < keep_best; ++i) keep(ordered[i].first, "best");
    return kept;
}

} // namespace stillroom::train
