// SPDX-License-Identifier: GPL-3.0-or-later
// Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): a counter-based
// generator, so that any random number of a run can be drawn again alone from its key and counter.
#pragma once

#include <array>
#include <cstdint>

namespace stillroom {

using PhiloxKey = std::array<uint32_t, 2>;
using PhiloxBlock = std::array<uint32_t, 4>;

/// The 128 random bits that belong to (`key`, `counter`).
constexpr PhiloxBlock philox(PhiloxKey key, PhiloxBlock counter) {
    constexpr uint32_t multiplier0 = 0xD2511F53u, multiplier1 = 0xCD9E8D57u;
    constexpr uint32_t weyl0 = 0x9E3779B9u, weyl1 = 0xBB67AE85u;
    for (int round = 0; round < 10; ++round) {
        const uint64_t a = uint64_t{multiplier0} * counter[0];
        const uint64_t b = uint64_t{multiplier1} * counter[2];
        counter = {uint32_t(b >> 32) ^ counter[1] ^ key[0], uint32_t(b),
                   uint32_t(a >> 32) ^ counter[3] ^ key[1], uint32_t(a)};
        key[0] += weyl0;
        key[1] += weyl1;
    }
    return counter;
}

/// A sequential stream over one key, for shuffles and initial weights. 2^64 blocks long.
class PhiloxStream {
public:
    PhiloxStream(uint64_t seed, uint64_t stream)
        : key_{uint32_t(seed), uint32_t(seed >> 32)}, stream_(stream) {}

    uint32_t next() {
        if (used_ == 4) {
            block_ = philox(key_, {uint32_t(position_), uint32_t(position_ >> 32), uint32_t(stream_),
                                   uint32_t(stream_ >> 32)});
            ++position_;
            used_ = 0;
        }
        return block_[used_++];
    }
    /// Uniform in 0..bound-1 without bias (Lemire's rejection). bound >= 1.
    uint32_t below(uint32_t bound) {
        for (;;) {
            const uint64_t product = uint64_t{next()} * bound;
            if (uint32_t(product) >= (0u - bound) % bound) return uint32_t(product >> 32);
        }
    }
    /// Uniform in (0, 1), 32 bits.
    double uniform() { return (next() + 0.5) * 0x1p-32; }

private:
    PhiloxKey key_;
    uint64_t stream_;
    uint64_t position_ = 0;
    PhiloxBlock block_{};
    int used_ = 4;
};

} // namespace stillroom
