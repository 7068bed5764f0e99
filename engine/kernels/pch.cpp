// SPDX-License-Identifier: GPL-3.0-or-later
// Holds the precompiled LibTorch header that every torch-using folder shares.
