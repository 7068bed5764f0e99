// SPDX-License-Identifier: GPL-3.0-or-later
// Who is decoded next, and in which pages: admission in the order of requests, sharing of prompts, copies of
// pages before rows part, and putting the youngest row back when pages run out. Host arithmetic only; the
// tensors are the cache's.
#pragma once

#include "rollout/page_pool.h"
#include "rollout/rollout.h"

#include <optional>
#include <set>
#include <span>
#include <vector>

namespace stillroom::rollout {

/// A request being answered.
struct Row {
    size_t request = 0;
    size_t prompt = 0;          // index of its prompt among the distinct ones
    std::vector<int32_t> pages; // token t is in pages[t / page_tokens]
    int64_t length = 0;         // tokens in the cache, those of the step at hand included
};

/// Tokens to run through the model before a row can go on: a prompt, and after a row was put back its answer
/// so far.
struct Prefill {
    size_t request = 0;
    std::optional<size_t>
        prompt; // the prompt alone, whose last hidden state others may use; else one row's own
    std::vector<int32_t> pages;
    int64_t length = 0;
};

struct PageCopy {
    int32_t from = 0, to = 0;
};

/// One round: copy pages, then decode the first `decoding` rows by one token and prefill; all rows draw.
struct Round {
    size_t decoding = 0;
    std::vector<PageCopy> copies;
    std::vector<Prefill> prefills;
    std::vector<std::optional<size_t>> started_by; // of each row after the first `decoding`: its prefill;
                                                   // none: a prompt that an earlier round ran
};

class Schedule {
public:
    /// `rollouts` grow outside while the schedule reads them. The pool must hold the longest row alone.
    Schedule(std::span<const Rollout> rollouts, int64_t batch_rows, int64_t page_tokens, PagePool& pool);

    bool finished() const { return waiting_.empty() && rows_.empty(); }
    Round next();
    /// In the order in which they were admitted: those that decode, then those that start in this round.
    const std::vector<Row>& rows() const { return rows_; }
    /// Takes rows out and frees their pages. done[i] belongs to rows()[i].
    void retire(const std::vector<char>& done);

    int64_t preemptions() const { return preemptions_; }
    /// Whether later requests will start from this prompt without running it again.
    bool kept(size_t prompt) const { return !prompts_[prompt].pages.empty(); }

private:
    struct Prompt {
        std::vector<int32_t> pages; // held for those who wait; empty: not in the cache
        int64_t waiting = 0;        // requests that have not started
    };
    void give_place_to_next_tokens(Round& round);
    void admit(Round& round);
    bool admit_one(size_t request, Round& round);
    bool make_room(size_t row);
    bool forget_a_prompt();
    void forget(Prompt& prompt);
    void put_back_youngest();
    int64_t pages_for(int64_t tokens) const { return (tokens + page_tokens_ - 1) / page_tokens_; }

    std::span<const Rollout> rollouts_;
    int64_t batch_rows_, page_tokens_;
    PagePool& pool_;
    std::vector<size_t> prompt_of_; // of each request
    std::vector<Prompt> prompts_;
    std::set<size_t> waiting_; // requests
    std::vector<Row> rows_;
    int64_t preemptions_ = 0;
};

} // namespace stillroom::rollout
