// SPDX-License-Identifier: GPL-3.0-or-later
// The tensor types of GGUF by their number in the file: name, elements a block, bytes a block.
#pragma once

#include "formats/gguf.h"

namespace stillroom::formats {

struct GgufTypeFacts {
    uint32_t id;
    GgufType type; // Other: the size is known, the values are not read
    const char* name;
    int64_t elements, bytes; // of one block
};

/// Nothing where the number is unknown or was removed from the format (4, 5, 31 to 33, 36 to 38).
const GgufTypeFacts* gguf_type_facts(uint32_t id);

} // namespace stillroom::formats
