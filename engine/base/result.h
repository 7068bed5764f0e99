// SPDX-License-Identifier: GPL-3.0-or-later
// Result<T>: a value, or an Error that a person can act on. Used at every boundary with files, people or
// machines.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace stillroom {

/// One fault, said so that a person can act on it.
struct Error {
    std::string what;   // what was found and what was expected
    std::string where;  // file, line, key or tensor; may be empty
    std::string remedy; // what to do; may be empty

    /// "where: what (remedy)", in one line.
    std::string message() const {
        std::string text = where.empty() ? what : where + ": " + what;
        return remedy.empty() ? text : text + " (" + remedy + ")";
    }
};

/// Thrown by Result::value() on an error, and by code that fills constructors; boundaries turn it back into
/// an Error.
class ErrorException : public std::runtime_error {
public:
    explicit ErrorException(Error error) : std::runtime_error(error.message()), error_(std::move(error)) {}
    const Error& error() const { return error_; }

private:
    Error error_;
};

template <typename T>
class [[nodiscard]] Result {
public:
    Result(T value) : state_(std::move(value)) {}
    Result(Error error) : state_(std::move(error)) {}

    explicit operator bool() const { return state_.index() == 0; }
    const Error& error() const { return std::get<1>(state_); }

    /// The value; throws ErrorException where there is none. Of a temporary by value, so that a loop over it
    /// is safe.
    T& value() & { return require(), std::get<0>(state_); }
    const T& value() const& { return require(), std::get<0>(state_); }
    T value() && { return require(), std::get<0>(std::move(state_)); }

    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T operator*() && { return std::move(*this).value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }

private:
    void require() const {
        if (state_.index() != 0) throw ErrorException(std::get<1>(state_));
    }
    std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
public:
    Result() = default;
    Result(Error error) : error_(std::move(error)) {}

    explicit operator bool() const { return !error_.has_value(); }
    const Error& error() const { return *error_; }
    void value() const {
        if (error_) throw ErrorException(*error_);
    }

private:
    std::optional<Error> error_;
};

} // namespace stillroom
