// SPDX-License-Identifier: GPL-3.0-or-later
// These tensors are small: threads that wait for one another would take most of the time of a test.
#include <gtest/gtest.h>
#include <torch/torch.h>

namespace {

class OneThread : public testing::Environment {
public:
    void SetUp() override { torch::set_num_threads(1); }
};

const testing::Environment* const one_thread = testing::AddGlobalTestEnvironment(new OneThread);

} // namespace
