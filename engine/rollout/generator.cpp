// SPDX-License-Identifier: GPL-3.0-or-later
// Rounds of generation: the schedule says who goes where, the model runs over what the cache holds, every row
// draws. One copy to the device and one back a round.
#include "rollout/generator.h"

#include "base/ensure.h"
#include "rollout/cache.h"
#include "rollout/sampler.h"

#include <algorithm>
#include <c10/core/CachingDeviceAllocator.h>
#include <chrono>
#include <fstream>
#include <limits>

namespace stillroom::rollout {

namespace {

int64_t tokens_of(const std::vector<int32_t>& ids) { return int64_t(ids.size()); }

/// Bytes that the cache may ask for: free on the device, or available in memory.
double free_memory(torch::Device device) {
    if (device.is_cuda()) {
        // What the allocator holds and nobody uses is free too.
        auto* allocator = c10::getDeviceAllocator(device.type());
        const auto statistics = allocator->getDeviceStats(device.index());
        const auto reserved = statistics.reserved_bytes[0].current,
                   used = statistics.allocated_bytes[0].current;
        return double(allocator->getMemoryInfo(device.index()).first) + double(reserved - used);
    }
    std::ifstream file("/proc/meminfo");
    for (std::string key, unit; file >> key;) {
        double kilobytes = 0;
        if (file >> kilobytes && key == "MemAvailable:") return kilobytes * 1024;
        file.clear();
        std::getline(file, unit);
    }
    return std::numeric_limits<double>::infinity();
}

/// Integers that go to the device in one copy, as consecutive blocks.
class Upload {
public:
    /// Where the block of `count` values starts.
    int64_t add(int64_t count) {
        const int64_t start = size_;
        size_ += count;
        return start;
    }
    void allocate(torch::Device device) {
        host_ = torch::empty({size_}, torch::dtype(torch::kInt64).pinned_memory(device.is_cuda()));
    }
    int64_t* host(int64_t start) { return host_.data_ptr<int64_t>() + start; }
    void send(torch::Device device) { sent_ = host_.to(device, /*non_blocking=*/true); }
    torch::Tensor block(int64_t start, int64_t count) const { return sent_.narrow(0, start, count); }

private:
    int64_t size_ = 0;
    torch::Tensor host_, sent_;
};

} // namespace

struct Generator::State {
    State(const model::Model& model, GeneratorOptions options) : model(model), options(options) {}

    const model::Model& model;
    GeneratorOptions options;
    std::optional<PagedCache> cache;

    torch::TensorOptions tensor_options() const { return torch::dtype(model.dtype()).device(model.device()); }
    std::optional<Error> fault_of(const Request& request, size_t index) const;
    int64_t cap(const Request& request, const SamplingPolicy& policy) const;
    Result<void> reserve(std::span<const Request> requests, const SamplingPolicy& policy, int64_t batch_rows);
    Result<std::vector<Rollout>> generate(std::span<const Request> requests, const SamplingPolicy& policy,
                                          GenerationReport& report,
                                          const std::function<bool(int64_t, int64_t)>& progress);

    torch::Tensor decode(std::span<const Row> rows, std::span<const Rollout> rollouts) const;
    torch::Tensor prefill(std::span<const Prefill> prefills, std::span<const Rollout> rollouts) const;
};

Generator::Generator(const model::Model& model, GeneratorOptions options)
    : state_(std::make_unique<State>(model, options)) {
    ensure(options.page_tokens >= 1 && options.prefill_tokens >= 1 && options.batch_rows >= 0 &&
               options.cache_tokens >= 0,
           "page_tokens and prefill_tokens are at least 1, batch_rows and cache_tokens at least 0");
}
Generator::~Generator() = default;

void Generator::release() { state_->cache.reset(); }

Result<std::vector<Rollout>> Generator::generate(std::span<const Request> requests,
                                                 const SamplingPolicy& policy, GenerationReport* report,
                                                 const std::function<bool(int64_t, int64_t)>& progress) {
    const torch::NoGradGuard no_grad;
    GenerationReport unread;
    GenerationReport& figures = report ? *report : unread;
    figures = {};
    const auto started = std::chrono::steady_clock::now();
    auto rollouts = [&]() -> Result<std::vector<Rollout>> {
        try {
            return state_->generate(requests, policy, figures, progress);
        } catch (const c10::OutOfMemoryError& error) {
            return Error{"out of device memory while generating: " + error.msg(),
                         state_->model.source.string(), "lower batch_rows or cache_tokens"};
        } catch (const c10::Error& error) {
            return Error{"generation failed: " + error.msg(), state_->model.source.string()};
        }
    }();
    // After a fault the pages may hold numbers that are not finite.
    if (!rollouts) release();
    figures.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    return rollouts;
}

std::optional<Error> Generator::State::fault_of(const Request& request, size_t index) const {
    const std::string where = "request " + std::to_string(index);
    const int64_t length = tokens_of(request.prompt_ids);
    if (length == 0) return Error{"the prompt is empty, expected at least one token", where};
    if (length >= model.config.context) {
        return Error{"the prompt has " + std::to_string(length) +
                         " tokens and leaves no room in the model's context of " +
                         std::to_string(model.config.context),
                     where, "shorten the prompt"};
    }
    for (size_t place = 0; place < request.prompt_ids.size(); ++place) {
        const int64_t id = request.prompt_ids[place];
        if (id >= 0 && id < model.config.vocab) continue;
        return Error{"prompt id " + std::to_string(id) + " at place " + std::to_string(place) +
                         " is outside the vocabulary of " + std::to_string(model.config.vocab),
                     where};
    }
    for (const auto& [name, value] :
         {std::pair{"prompt", request.prompt}, std::pair{"sample", request.sample}}) {
        if (value < 0 || value > std::numeric_limits<uint32_t>::max())
            return Error{std::string("the counter ") + name + " is " + std::to_string(value) +
                             ", expected 0 to 2^32 - 1",
                         where};
    }
    if (request.max_new < 0)
        return Error{"max_new is " + std::to_string(request.max_new) + ", expected 0 or more", where};
    return std::nullopt;
}

/// The most tokens that an answer may have.
int64_t Generator::State::cap(const Request& request, const SamplingPolicy& policy) const {
    const int64_t wanted = request.max_new > 0 ? request.max_new : policy.max_new;
    return std::min(wanted, model.config.context - tokens_of(request.prompt_ids));
}

/// Makes the cache: for `batch_rows` full answers if memory allows, at the least for the longest one.
Result<void> Generator::State::reserve(std::span<const Request> requests, const SamplingPolicy& policy,
                                       int64_t batch_rows) {
    const int64_t size = options.page_tokens;
    std::vector<int64_t> needs; // pages of each request
    for (const auto& request : requests) {
        // The last token of an answer is drawn and never read.
        needs.push_back((tokens_of(request.prompt_ids) + cap(request, policy) - 1 + size - 1) / size);
    }
    std::sort(needs.rbegin(), needs.rend());
    int64_t pages = options.cache_tokens / size;
    if (options.cache_tokens == 0) {
        // A page more a row: admission leaves one free for each.
        for (int64_t row = 0; row < batch_rows; ++row) pages += needs[size_t(row)] + 1;
        const double bytes = double(size) * double(PagedCache::bytes_per_token(model.config, model.dtype()));
        const double held =
            cache && cache->fits(model.config, tensor_options()) ? double(cache->pages()) * bytes : 0;
        pages =
            std::min(pages, std::max(needs[0], int64_t(0.6 * (free_memory(model.device()) + held) / bytes)));
    }
    if (pages < needs[0]) {
        return Error{"a cache of " + std::to_string(pages * size) + " tokens is too small: one row needs " +
                         std::to_string(needs[0] * size),
                     "cache_tokens", "raise cache_tokens or lower max_new"};
    }
    const bool usable = cache && cache->fits(model.config, tensor_options()) &&
                        cache->page_tokens() == size &&
                        (options.cache_tokens == 0 ? cache->pages() >= pages : cache->pages() == pages);
    if (!usable) {
        cache.reset(); // before the new one asks for memory
        cache.emplace(model.config, tensor_options(), pages, size);
    }
    return {};
}

Result<std::vector<Rollout>>
Generator::State::generate(std::span<const Request> requests, const SamplingPolicy& policy,
                           GenerationReport& report, const std::function<bool(int64_t, int64_t)>& progress) {
    if (auto fault = rollout::fault_of(policy)) return *fault;
    for (size_t index = 0; index < requests.size(); ++index) {
        if (auto fault = fault_of(requests[index], index)) return *fault;
    }
    if (requests.empty()) return std::vector<Rollout>{};
    report.batch_rows =
        std::min<int64_t>(int64_t(requests.size()), options.batch_rows ? options.batch_rows : 256);
    if (auto reserved = reserve(requests, policy, report.batch_rows); !reserved) return reserved.error();

    std::vector<Rollout> rollouts;
    for (const auto& request : requests) rollouts.push_back({request, {}, {}, Finish::Cancelled});
    PagePool pool(cache->pages());
    Schedule schedule(rollouts, report.batch_rows, options.page_tokens, pool);
    std::map<size_t, torch::Tensor> last_hidden; // of prompts that later requests share, [1, d]
    const int64_t real_vocab = model.real_vocab();
    int64_t finished = 0, decoded_rows = 0;

    while (!schedule.finished()) {
        const Round round = schedule.next();
        const auto& rows = schedule.rows();
        cache->copy(round.copies);

        std::vector<torch::Tensor> hidden; // of every row's last token
        if (round.decoding > 0) {
            hidden.push_back(decode(std::span(rows).first(round.decoding), rollouts));
            ++report.decode_steps;
            decoded_rows += int64_t(round.decoding);
            for (size_t row = 0; row < round.decoding; ++row)
                report.kv_bytes_read += double(rows[row].length) * double(cache->bytes_per_token());
        }
        const auto prefilled = prefill(round.prefills, rollouts);
        for (size_t index = 0; index < round.prefills.size(); ++index) {
            report.prefill_tokens += round.prefills[index].length;
            const auto prompt = round.prefills[index].prompt;
            if (prompt && schedule.kept(*prompt))
                last_hidden[*prompt] = prefilled.narrow(0, int64_t(index), 1);
        }
        for (size_t row = round.decoding; row < rows.size(); ++row) {
            const auto source = round.started_by[row - round.decoding];
            hidden.push_back(source ? prefilled.narrow(0, int64_t(*source), 1)
                                    : last_hidden.at(rows[row].prompt));
        }

        std::vector<DrawPlace> places;
        for (const auto& row : rows) {
            const auto& rollout = rollouts[row.request];
            places.push_back({stream_key(policy.seed, rollout.request.step), uint32_t(rollout.ids.size()),
                              uint32_t(rollout.request.sample), uint32_t(rollout.request.prompt)});
        }
        const auto draws = draw(model::logits(torch::cat(hidden), model.head()),
                                to_tensor(places).to(model.device()), policy, real_vocab);
        const auto drawn =
            torch::stack({draws.ids.to(torch::kFloat64), draws.logprobs.to(torch::kFloat64)}).cpu();
        const double* id_of = drawn.const_data_ptr<double>();
        const double* logprob_of = id_of + rows.size();

        std::vector<char> done(rows.size(), 0);
        for (size_t index = 0; index < rows.size(); ++index) {
            auto& rollout = rollouts[rows[index].request];
            const auto id = int64_t(id_of[index]);
            if (id < 0) {
                return Error{"a logit for token " + std::to_string(rollout.ids.size()) +
                                 " of the answer is not finite",
                             "request " + std::to_string(rows[index].request) + " (prompt " +
                                 std::to_string(rollout.request.prompt) + ", sample " +
                                 std::to_string(rollout.request.sample) + ")",
                             "the model's weights are damaged or diverged"};
            }
            rollout.ids.push_back(int32_t(id));
            rollout.logprobs.push_back(float(logprob_of[index]));
            ++report.sampled_tokens;
            const bool ended =
                std::find(policy.eos_ids.begin(), policy.eos_ids.end(), id) != policy.eos_ids.end();
            if (!ended && tokens_of(rollout.ids) < cap(rollout.request, policy)) continue;
            rollout.finish = ended ? Finish::Eos : Finish::Length;
            done[index] = 1;
            ++finished;
        }
        schedule.retire(done);
        if (progress && !progress(finished, report.sampled_tokens)) break;
    }
    report.preemptions = schedule.preemptions();
    report.live_rows_mean = report.decode_steps ? double(decoded_rows) / double(report.decode_steps) : 0;
    report.pages = pool.pages();
    report.pages_used_max = pool.used_max();
    return rollouts;
}

/// Hidden states [B, d] of the newest token of each row, which joins the cache.
torch::Tensor Generator::State::decode(std::span<const Row> rows, std::span<const Rollout> rollouts) const {
    const auto count = int64_t(rows.size());
    const int64_t size = options.page_tokens;
    int64_t longest = 0;
    for (const auto& row : rows) longest = std::max(longest, row.length);
    // Masks of 8 columns or a multiple are what fast attention takes.
    const int64_t seen = (longest + 7) / 8 * 8, columns = (seen + size - 1) / size;

    Upload upload;
    const int64_t ids = upload.add(count), positions = upload.add(count), slots = upload.add(count),
                  table = upload.add(count * columns);
    upload.allocate(model.device());
    for (int64_t index = 0; index < count; ++index) {
        const Row& row = rows[size_t(index)];
        const int64_t position = row.length - 1;
        upload.host(ids)[index] = rollouts[row.request].ids.back();
        upload.host(positions)[index] = position;
        upload.host(slots)[index] = row.pages[size_t(position / size)] * size + position % size;
        // Rows shorter than the longest look at page 0, and their mask hides it.
        int64_t* pages = upload.host(table) + index * columns;
        std::fill(std::copy(row.pages.begin(), row.pages.end(), pages), pages + columns, 0);
    }
    upload.send(model.device());

    const auto position = upload.block(positions, count);
    const auto hidden_tokens = torch::arange(seen, position.options()).unsqueeze(0) > position.unsqueeze(1);
    const auto mask = torch::zeros({count, seen}, tensor_options())
                          .masked_fill_(hidden_tokens, -std::numeric_limits<double>::infinity())
                          .view({count, 1, 1, seen});
    return model::forward(
        model, upload.block(ids, count), position,
        cache->decode_attention({upload.block(slots, count), upload.block(table, count * columns), mask}));
}

/// Hidden states [n, d] of the last token of each prefill, all tokens of which join the cache.
torch::Tensor Generator::State::prefill(std::span<const Prefill> prefills,
                                        std::span<const Rollout> rollouts) const {
    std::vector<torch::Tensor> hidden;
    for (size_t first = 0, last = 0; first < prefills.size(); first = last) {
        std::vector<std::vector<int32_t>> sequences;
        std::vector<int64_t> slots, ends;
        for (; last < prefills.size(); ++last) {
            const Prefill& prefill = prefills[last];
            const auto packed = int64_t(slots.size());
            if (packed > 0 && packed + prefill.length > options.prefill_tokens) break;
            const auto& rollout = rollouts[prefill.request];
            auto& sequence = sequences.emplace_back(rollout.request.prompt_ids);
            sequence.insert(sequence.end(), rollout.ids.begin(), rollout.ids.end());
            for (int64_t token = 0; token < prefill.length; ++token) {
                slots.push_back(prefill.pages[size_t(token / options.page_tokens)] * options.page_tokens +
                                token % options.page_tokens);
            }
            ends.push_back(int64_t(slots.size()) - 1);
        }
        const auto pack = model::Pack::of(sequences, model.device());
        const auto places = torch::tensor(slots, torch::kInt64).to(model.device());
        const auto all =
            model::forward(model, pack.ids, pack.positions, cache->prefill_attention(pack, places));
        hidden.push_back(all.index_select(0, torch::tensor(ends, torch::kInt64).to(model.device())));
    }
    return hidden.empty() ? torch::Tensor() : torch::cat(hidden);
}

} // namespace stillroom::rollout
