# SPDX-License-Identifier: GPL-3.0-or-later
# LibTorch out of the torch wheel of the private environment, as one imported target, torch::torch.
#
# The wheel's own TorchConfig.cmake insists on an installed CUDA toolkit whenever the wheel was built with CUDA. Nothing
# in the plain path needs nvcc or CUDA headers, so the libraries are named here directly.
set(STILLROOM_TORCH_ENV "$ENV{HOME}/.cache/stillroom/torch-2.11.0" CACHE PATH "Python environment that holds torch 2.11.0")
file(GLOB STILLROOM_TORCH_DIR ${STILLROOM_TORCH_ENV}/lib/python3*/site-packages/torch)
if(NOT STILLROOM_TORCH_DIR)
    message(FATAL_ERROR "No torch in ${STILLROOM_TORCH_ENV}. Run installers/workbench.sh, or set STILLROOM_TORCH_ENV.")
endif()
get_filename_component(STILLROOM_SITE_PACKAGES ${STILLROOM_TORCH_DIR} DIRECTORY)
file(GLOB STILLROOM_NVIDIA_LIBS ${STILLROOM_SITE_PACKAGES}/nvidia/*/lib)

add_library(torch_headers INTERFACE)
target_include_directories(torch_headers SYSTEM INTERFACE
    ${STILLROOM_TORCH_DIR}/include ${STILLROOM_TORCH_DIR}/include/torch/csrc/api/include)
target_compile_options(torch_headers INTERFACE -D_GLIBCXX_USE_CXX11_ABI=1)

add_library(torch_libraries INTERFACE)
target_link_directories(torch_libraries INTERFACE ${STILLROOM_TORCH_DIR}/lib)
if(EXISTS ${STILLROOM_TORCH_DIR}/lib/libtorch_cuda.so)
    # The CUDA half registers itself on load and nothing refers to it by name: keep it.
    target_link_libraries(torch_libraries INTERFACE -Wl,--no-as-needed torch_cuda c10_cuda -Wl,--as-needed torch_cpu c10 torch)
    foreach(dir IN LISTS STILLROOM_NVIDIA_LIBS)
        target_link_options(torch_libraries INTERFACE -Wl,-rpath-link,${dir})
    endforeach()
else()
    target_link_libraries(torch_libraries INTERFACE torch torch_cpu c10)
endif()
set(STILLROOM_TORCH_RPATH ${STILLROOM_TORCH_DIR}/lib ${STILLROOM_NVIDIA_LIBS})
set(CMAKE_BUILD_RPATH ${STILLROOM_TORCH_RPATH})
add_library(torch::torch INTERFACE IMPORTED)
target_link_libraries(torch::torch INTERFACE torch_headers torch_libraries)
