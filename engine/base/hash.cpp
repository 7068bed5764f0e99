// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/hash.h"

#include "base/ensure.h"

#include <fstream>
#include <openssl/evp.h>
#include <vector>

namespace stillroom {

struct Sha256::State {
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
    ensure(EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1, "libcrypto has no SHA-256");
}
Sha256::~Sha256() = default;

void Sha256::add(const void* bytes, size_t count) { EVP_DigestUpdate(state_->context, bytes, count); }

std::string Sha256::hex() {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    EVP_DigestFinal_ex(state_->context, digest, &length);
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (unsigned i = 0; i < length; ++i) {
        text += digits[digest[i] >> 4];
        text += digits[digest[i] & 15];
    }
    return text;
}

std::string sha256(std::string_view bytes) {
    Sha256 hash;
    hash.add(bytes.data(), bytes.size());
    return hash.hex();
}

Result<std::string> sha256_of_file(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) return Error{"cannot be opened for reading", file.string()};
    Sha256 hash;
    std::vector<char> piece(1 << 20);
    while (stream) {
        stream.read(piece.data(), std::streamsize(piece.size()));
        hash.add(piece.data(), size_t(stream.gcount()));
    }
    if (stream.bad()) return Error{"cannot be read to its end", file.string()};
    return hash.hex();
}

} // namespace stillroom
