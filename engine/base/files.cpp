// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/files.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace stillroom {

namespace fs = std::filesystem;

namespace {

Error system_error(const std::string& action, const fs::path& path) {
    return Error{action + ": " + std::strerror(errno), path.string()};
}

} // namespace

Result<MappedFile> MappedFile::open(const fs::path& file) {
    const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return system_error("cannot be opened", file);
    struct stat status {};
    if (::fstat(descriptor, &status) != 0) {
        const Error error = system_error("cannot be examined", file);
        ::close(descriptor);
        return error;
    }
    if (!S_ISREG(status.st_mode)) {
        ::close(descriptor);
        return Error{"is not a regular file", file.string()};
    }
    MappedFile mapped;
    mapped.path_ = file;
    mapped.size_ = size_t(status.st_size);
    if (mapped.size_ > 0) {
        void* address = ::mmap(nullptr, mapped.size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (address == MAP_FAILED) {
            const Error error = system_error("cannot be mapped", file);
            mapped.size_ = 0;
            ::close(descriptor);
            return error;
        }
        mapped.data_ = static_cast<const std::byte*>(address);
    }
    ::close(descriptor);
    return mapped;
}

MappedFile::MappedFile(MappedFile&& other) noexcept { *this = std::move(other); }

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
}

MappedFile::~MappedFile() {
    if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
}

Result<std::string> read_file(const fs::path& file) {
    auto mapped = MappedFile::open(file);
    if (!mapped) return mapped.error();
    const auto bytes = mapped->bytes();
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<FileWriter> FileWriter::create(const fs::path& file) {
    FileWriter writer;
    writer.path_ = file;
    writer.descriptor_ = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (writer.descriptor_ < 0) return system_error("cannot be created", file);
    return writer;
}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

FileWriter::~FileWriter() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

Result<void> FileWriter::write(const void* bytes, size_t count) {
    const char* next = static_cast<const char*>(bytes);
    while (count > 0) {
        const ssize_t written = ::write(descriptor_, next, count);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return system_error("cannot be written", path_);
        next += written;
        count -= size_t(written);
    }
    return {};
}

Result<void> FileWriter::finish() {
    if (::fsync(descriptor_) != 0) return system_error("cannot be synced", path_);
    if (::close(std::exchange(descriptor_, -1)) != 0) return system_error("cannot be closed", path_);
    return {};
}

Result<void> sync_folder(const fs::path& folder) {
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return system_error("cannot be opened", folder);
    const int status = ::fsync(descriptor);
    const Error error = system_error("cannot be synced", folder);
    ::close(descriptor);
    if (status != 0) return error;
    return {};
}

namespace {

fs::path partial_of(const fs::path& target) { return target.string() + ".partial"; }
fs::path folder_of(const fs::path& file) {
    return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

Result<void> rename_synced(const fs::path& from, const fs::path& to) {
    if (::rename(from.c_str(), to.c_str()) != 0)
        return system_error("cannot be renamed to " + to.string(), from);
    return sync_folder(folder_of(to));
}

} // namespace

Result<void> write_file(const fs::path& file, std::string_view content) {
    const fs::path partial = partial_of(file);
    const auto written = [&]() -> Result<void> {
        auto writer = FileWriter::create(partial);
        if (!writer) return writer.error();
        if (auto done = writer->write(content.data(), content.size()); !done) return done;
        return writer->finish();
    }();
    if (!written) {
        std::error_code ignored;
        fs::remove(partial, ignored);
        return written;
    }
    return rename_synced(partial, file);
}

Result<void> write_folder(const fs::path& folder, const std::function<Result<void>(const fs::path&)>& fill) {
    std::error_code code;
    if (fs::exists(folder, code)) return Error{"exists already", folder.string(), "choose another place"};
    const fs::path partial = partial_of(folder);
    fs::remove_all(partial, code); // what a crash left
    if (!fs::create_directories(partial, code) && code) {
        return Error{"cannot be created: " + code.message(), partial.string()};
    }
    auto filled = fill(partial);
    if (filled) filled = sync_folder(partial);
    if (filled) filled = rename_synced(partial, folder);
    if (!filled) fs::remove_all(partial, code);
    return filled;
}

} // namespace stillroom
