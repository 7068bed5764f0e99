#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""An exported folder in transformers: does it load, with nothing missing, and give the logits that Stillroom gives?

Run it with a Python that has torch and transformers:
  python tests/transformers_export.py FOLDER --cli build/bin/stillroom-cli [--other MODEL]

--other names a model that `stillroom-cli logprobs` reads in place of FOLDER: the GGUF file or checkpoint that FOLDER was
made from. Ends with status 1 and says what differs, if anything does.
"""
import argparse
import json
import pathlib
import subprocess
import sys

import torch
import transformers

TOLERANCE = 1e-3  # fp32 against fp32 for a model of 30 layers, as tests/golden/README.md asks of SmolLM2
TEXT = "Question: 12 + 30 = ?\nAnswer: It's 42, isn't it?  The ring is on the hill."


def inputs(folder, vocab):
    """Token ids: a text where the folder has a tokenizer, and a few made up from the whole vocabulary."""
    sequences = [[(17 * i * i + 5 * i + 3) % vocab for i in range(n)] for n in (1, 2, 33)]
    has_tokenizer = (pathlib.Path(folder) / "tokenizer.json").exists()
    if has_tokenizer:
        sequences.append(transformers.AutoTokenizer.from_pretrained(folder).encode(TEXT, add_special_tokens=False))
    else:
        print(f"{folder}: has no tokenizer, none is compared")
    return sequences, has_tokenizer


def stillroom(cli, command, model, lines, *arguments):
    done = subprocess.run([cli, command, model, *arguments], input="\n".join(map(json.dumps, lines)),
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{cli} {command} ended with status {done.returncode}: {done.stderr.strip()}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder")
    arguments.add_argument("--cli", required=True)
    arguments.add_argument("--other")
    options = arguments.parse_args()
    faults = []

    model, loading = transformers.AutoModelForCausalLM.from_pretrained(options.folder, dtype=torch.float32,
                                                                       output_loading_info=True)
    for kind, names in loading.items():
        if names:
            faults.append(f"{kind}: {sorted(map(str, names))[:5]}")
    model.eval()

    other = options.other or options.folder
    sequences, has_tokenizer = inputs(options.folder, model.config.vocab_size)
    if has_tokenizer:
        ours = stillroom(options.cli, "tokenize", other, [{"text": TEXT}])[0]["ids"]
        if ours != sequences[-1]:
            faults.append(f"the text is {sequences[-1]} to transformers and {ours} to stillroom-cli")
    answers = stillroom(options.cli, "logprobs", other, [{"ids": ids} for ids in sequences], "--logits", "--device", "cpu",
                        "--dtype", "fp32")
    worst = 0.0
    for ids, answer in zip(sequences, answers, strict=True):
        with torch.no_grad():
            expected = model(torch.tensor([ids])).logits[0]
        worst = max(worst, (expected - torch.tensor(answer["logits"])).abs().max().item())
    if not worst <= TOLERANCE:
        faults.append(f"logits differ by {worst:.3g}, at most {TOLERANCE:.3g} is expected")

    for fault in faults:
        print(f"{options.folder}: {fault}")
    rows = sum(map(len, sequences))
    print(f"{options.folder}: transformers {transformers.__version__}, {rows} rows, largest difference of a logit {worst:.3g}")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
