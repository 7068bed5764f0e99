// SPDX-License-Identifier: GPL-3.0-or-later
// One objective on given logits, as JSON: what `stillroom-cli objective` answers and what the golden vectors
// are compared through. The computing is evaluate_rows() and StepSums, the code that trains.
#pragma once

#include "base/result.h"

#include <nlohmann/json.hpp>

namespace stillroom::objective {

enum class Precision { Fp64, Fp32 };

/// A case with `params`, `shapes`, `mask`, `weights`, `n_global`, `inputs` (cli.md); numbers may be "inf",
/// "-inf", "nan". Answers {"row", "loss", "grad", "stats"}, k1_pg and k2_loss also {"k1", "k2", "k3"}. If a
/// row that counts is undefined the answer is {"row", "defined"} alone. An error: what the objective refuses,
/// or a field that is missing, unknown or of another shape, by name.
Result<nlohmann::json> evaluate_case(const nlohmann::json& item, Precision precision = Precision::Fp64);

} // namespace stillroom::objective
