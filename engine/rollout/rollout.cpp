// SPDX-License-Identifier: GPL-3.0-or-later
#include "rollout/rollout.h"

namespace stillroom::rollout {

std::string to_string(Finish finish) {
    switch (finish) {
    case Finish::Eos:
        return "eos";
    case Finish::Length:
        return "length";
    case Finish::Cancelled:
        return "cancelled";
    }
    return "unknown";
}

} // namespace stillroom::rollout
