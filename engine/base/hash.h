// SPDX-License-Identifier: GPL-3.0-or-later
// SHA-256 of bytes and of files, by OpenSSL's libcrypto.
#pragma once

#include "base/result.h"

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace stillroom {

/// Lower-case hex SHA-256 of `bytes`.
std::string sha256(std::string_view bytes);

/// Lower-case hex SHA-256 of a file's content, read in pieces.
Result<std::string> sha256_of_file(const std::filesystem::path& file);

/// SHA-256 of content that arrives in pieces.
class Sha256 {
public:
    Sha256();
    ~Sha256();
    void add(const void* bytes, size_t count);
    std::string hex();

private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace stillroom
