// SPDX-License-Identifier: GPL-3.0-or-later
#include "rollout/schedule.h"

#include "base/ensure.h"

#include <map>

namespace stillroom::rollout {

Schedule::Schedule(std::span<const Rollout> rollouts, int64_t batch_rows, int64_t page_tokens, PagePool& pool)
    : rollouts_(rollouts), batch_rows_(batch_rows), page_tokens_(page_tokens), pool_(pool) {
    const auto less = [](const std::vector<int32_t>* a, const std::vector<int32_t>* b) { return *a < *b; };
    std::map<const std::vector<int32_t>*, size_t, decltype(less)> known(less);
    for (size_t request = 0; request < rollouts.size(); ++request) {
        const auto [entry, fresh] = known.emplace(&rollouts[request].request.prompt_ids, prompts_.size());
        if (fresh) prompts_.emplace_back();
        prompt_of_.push_back(entry->second);
        ++prompts_[entry->second].waiting;
        waiting_.insert(request);
    }
}

Round Schedule::next() {
    Round round;
    give_place_to_next_tokens(round);
    round.decoding = rows_.size();
    admit(round);
    return round;
}

void Schedule::give_place_to_next_tokens(Round& round) {
    for (size_t index = 0; index < rows_.size(); ++index) {
        const auto page = size_t(rows_[index].length / page_tokens_);
        const auto needs_page = [&] {
            return page == rows_[index].pages.size() || pool_.shared(rows_[index].pages[page]);
        };
        while (needs_page() && pool_.free() == 0) {
            if (!make_room(index)) return; // the row itself, the last one, was put back
        }
        Row& row = rows_[index];
        if (needs_page()) {
            const int32_t own = pool_.take();
            if (page == row.pages.size()) {
                row.pages.push_back(own);
            } else {
                round.copies.push_back({row.pages[page], own});
                pool_.drop(row.pages[page]);
                row.pages[page] = own;
            }
        }
        ++row.length;
    }
}

/// Frees something, a kept prompt first, else the youngest row. False if that was `row`.
bool Schedule::make_room(size_t row) {
    if (forget_a_prompt()) return true;
    ensure(rows_.size() > 1, "a row alone does not fit the " + std::to_string(pool_.pages()) + " pages");
    put_back_youngest();
    return row < rows_.size();
}

bool Schedule::forget_a_prompt() {
    for (auto prompt = prompts_.rbegin(); prompt != prompts_.rend(); ++prompt) {
        if (prompt->pages.empty()) continue;
        forget(*prompt);
        return true;
    }
    return false;
}

void Schedule::forget(Prompt& prompt) {
    for (const int32_t page : prompt.pages) pool_.drop(page);
    prompt.pages.clear();
}

void Schedule::put_back_youngest() {
    const Row& row = rows_.back();
    for (const int32_t page : row.pages) pool_.drop(page);
    waiting_.insert(row.request);
    rows_.pop_back();
    ++preemptions_;
}

void Schedule::admit(Round& round) {
    while (!waiting_.empty() && int64_t(rows_.size()) < batch_rows_) {
        const size_t request = *waiting_.begin();
        while (!admit_one(request, round)) {
            // Rows that run will free pages; without any, what is kept for later must make way.
            if (!rows_.empty()) return;
            ensure(forget_a_prompt(),
                   "a prefill alone does not fit the " + std::to_string(pool_.pages()) + " pages");
        }
        waiting_.erase(request);
    }
}

bool Schedule::admit_one(size_t request, Round& round) {
    const Rollout& rollout = rollouts_[request];
    const size_t index = prompt_of_[request];
    Prompt& prompt = prompts_[index];
    const bool fresh =
        rollout.ids.empty(); // else the row was put back, and its answer so far is run with the prompt
    const bool shares = fresh && !prompt.pages.empty();
    Row row{request, index, {}, int64_t(rollout.request.prompt_ids.size() + rollout.ids.size())};

    // A page a row is left free, so that what is admitted now is not put back at once.
    const int64_t spare = rows_.empty() ? 0 : int64_t(rows_.size()) + 1;
    const int64_t wanted = shares ? 0 : pages_for(row.length);
    if (wanted + spare > pool_.free()) return false;

    std::optional<size_t> started_by;
    if (shares) {
        row.pages = prompt.pages;
        for (const int32_t page : row.pages) pool_.hold(page);
        for (size_t earlier = 0; earlier < round.prefills.size(); ++earlier) {
            if (round.prefills[earlier].prompt == index) started_by = earlier;
        }
    } else {
        while (int64_t(row.pages.size()) < wanted) row.pages.push_back(pool_.take());
        started_by = round.prefills.size();
        round.prefills.push_back(
            {request, fresh ? std::optional(index) : std::nullopt, row.pages, row.length});
    }
    if (fresh) {
        --prompt.waiting;
        if (!shares && prompt.waiting > 0) {
            prompt.pages = row.pages;
            for (const int32_t page : row.pages) pool_.hold(page);
        }
        if (prompt.waiting == 0) forget(prompt);
    }
    rows_.push_back(std::move(row));
    round.started_by.push_back(started_by);
    return true;
}

void Schedule::retire(const std::vector<char>& done) {
    ensure(done.size() == rows_.size(), "retire() needs one flag a row");
    size_t kept = 0;
    for (size_t index = 0; index < rows_.size(); ++index) {
        if (done[index]) {
            for (const int32_t page : rows_[index].pages) pool_.drop(page);
        } else {
            if (kept != index) rows_[kept] = std::move(rows_[index]);
            ++kept;
        }
    }
    rows_.resize(kept);
}

} // namespace stillroom::rollout
