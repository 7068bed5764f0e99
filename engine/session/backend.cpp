// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/backend.h"

#include "kernels/device.h"

#include <torch/torch.h>
#include <torch/version.h>

namespace stillroom::session {

namespace {

class Engine final : public Backend {
public:
    void start(RunRequest request) override { session_.start(std::move(request)); }
    void send(Command command) override { session_.send(std::move(command)); }
    std::optional<Event> next_event() override { return session_.next_event(std::chrono::milliseconds(0)); }
    bool over() const override { return session_.over(); }
    record::RunState state() const override { return session_.state(); }
    Result<void> wait() override { return session_.wait(); }

    Result<Exported> export_checkpoint(const std::filesystem::path& run, int64_t step,
                                       const std::filesystem::path& to, const std::string& dtype) override {
        return session::export_checkpoint(run, step, to, dtype);
    }

    Result<std::vector<Finding>> preflight(const PreflightRequest& request,
                                           const std::function<bool(const Finding&)>& each) override {
        return session::preflight(request, each);
    }
    std::vector<std::pair<std::string, std::string>> preflight_checks() const override {
        return session::preflight_checks();
    }
    Result<MemoryForecast> memory_forecast(const PreflightRequest& request) override {
        return session::memory_forecast(request);
    }

    DeviceFacts device() const override {
        DeviceFacts facts;
        facts.gpu = torch::cuda::is_available();
        facts.name = kernels::device_name(torch::Device(facts.gpu ? torch::kCUDA : torch::kCPU));
        if (facts.gpu) {
            const auto memory = kernels::device_memory(torch::Device(torch::kCUDA, 0));
            facts.total_bytes = memory.capacity;
            facts.free_bytes = memory.free;
        }
        return facts;
    }

    std::vector<std::pair<std::string, std::string>> versions() const override {
        return {{"LibTorch", TORCH_VERSION},
                {"CUDA devices", std::to_string(torch::cuda::device_count())},
                {"threads", std::to_string(torch::get_num_threads())}};
    }

private:
    Session session_;
};

} // namespace

} // namespace stillroom::session

extern "C" __attribute__((visibility("default"))) stillroom::session::Backend* stillroom_backend() {
    return new stillroom::session::Engine;
}
