// SPDX-License-Identifier: GPL-3.0-or-later
// Files as the engine uses them: mapped for reading, and written beside their place, synced and renamed, so
// that a crash or a full disk never leaves half a file under a final name.
#pragma once

#include "base/result.h"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace stillroom {

/// A whole file mapped read-only.
class MappedFile {
public:
    static Result<MappedFile> open(const std::filesystem::path& file);
    MappedFile(MappedFile&&) noexcept;
    MappedFile& operator=(MappedFile&&) noexcept;
    ~MappedFile();

    std::span<const std::byte> bytes() const { return {data_, size_}; }
    const std::filesystem::path& path() const { return path_; }

private:
    MappedFile() = default;
    std::filesystem::path path_;
    const std::byte* data_ = nullptr;
    size_t size_ = 0;
};

/// The content of a (small) file. An error names the file and the system's reason.
Result<std::string> read_file(const std::filesystem::path& file);

/// Replaces `file` by `content`: writes `file`.partial, syncs it, renames it, syncs the folder.
Result<void> write_file(const std::filesystem::path& file, std::string_view content);

/// A stream of bytes into one new file, synced on finish(). Every fault (a full disk too) is returned, none
/// thrown.
class FileWriter {
public:
    static Result<FileWriter> create(const std::filesystem::path& file);
    FileWriter(FileWriter&&) noexcept;
    ~FileWriter();
    Result<void> write(const void* bytes, size_t count);
    /// fsync and close.
    Result<void> finish();

private:
    FileWriter() = default;
    std::filesystem::path path_;
    int descriptor_ = -1;
};

/// Makes a folder appear at once and whole: `fill` writes into `folder`.partial, which is then synced and
/// renamed. On an error the partial folder is removed and `folder` does not exist. Fails if `folder` exists.
Result<void> write_folder(const std::filesystem::path& folder,
                          const std::function<Result<void>(const std::filesystem::path&)>& fill);

/// fsync of a folder, so that renames in it survive a power loss.
Result<void> sync_folder(const std::filesystem::path& folder);

} // namespace stillroom
