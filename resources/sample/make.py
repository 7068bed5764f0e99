# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the sample's problems and its tokenizer: train.jsonl, heldout.jsonl, base/. The models beside them are then
trained by the program itself, with the recipes sample-make-teacher and sample-make-student.

  pip install tokenizers && python3 make.py

A problem is a start and three or four operations whose running totals stay within 0..99; its solution has a line for
each. `spoiled` is the same solution with mistakes, each line wrong by 1 or 10 with probability 0.2 and later lines
going on from the wrong total: what the sample's student learns by heart and the teacher then repairs.
"""
import json, os, random
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

VOCABULARY, TRAIN, HELD_OUT = 319, 5000, 200
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
QWEN2_PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
TEMPLATE = ("{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
            "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")


def operation(rng, total):
    """A word for the problem, a sign for the solution, the operand and the new total."""
    while True:
        word, sign = rng.choice([("add", "+"), ("subtract", "-"), ("times", "*")])
        operand = rng.randint(2, 4) if sign == "*" else rng.randint(2, 9)
        after = {"+": total + operand, "-": total - operand, "*": total * operand}[sign]
        if 0 <= after <= 99:
            return word, sign, operand, after


def worked(start, operations, rng=None):
    total, lines = start, []
    for word, sign, operand, _ in operations:
        after = {"+": total + operand, "-": total - operand, "*": total * operand}[sign]
        if rng and rng.random() < 0.2:
            after += rng.choice([-10, -1, 1, 10])
        lines.append(f"{total}{sign}{operand}={after}")
        total = after
    return "\n".join(lines) + f"\n\\boxed{{{total}}}"


def example(rng):
    start = total = rng.randint(5, 60)
    operations = []
    for _ in range(rng.choice([3, 4])):
        operations.append(operation(rng, total))
        total = operations[-1][3]
    problem = f"Start with {start}, " + ", ".join(f"{word} {operand}" for word, _, operand, _ in operations) + "."
    return {"problem": problem, "solution": worked(start, operations), "spoiled": worked(start, operations, rng)}


def write_lines(name, rows):
    with open(name, "w") as file:
        for row in rows:
            file.write(json.dumps(row, separators=(",", ":")) + "\n")


def main():
    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    rng, seen, rows = random.Random(20261201), set(), []
    while len(rows) < TRAIN + HELD_OUT:
        row = example(rng)
        if row["problem"] not in seen:
            seen.add(row["problem"])
            rows.append(row)
    write_lines("train.jsonl", rows[HELD_OUT:])
    write_lines("heldout.jsonl", [{key: row[key] for key in ("problem", "solution")} for row in rows[:HELD_OUT]])

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(QWEN2_PATTERN), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    texts = [row["problem"] + "\n" + row["solution"] for row in rows[HELD_OUT:]]
    texts += ["user\n", "assistant\n", "\nReference solution:\n", "\nThe verified answer is 5.\nSolve it. Answer: 5"] * len(texts)
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=SPECIAL, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token in SPECIAL])
    assert tokenizer.get_vocab_size() == VOCABULARY, tokenizer.get_vocab_size()
    os.makedirs("base", exist_ok=True)
    tokenizer.save("base/tokenizer.json")
    end = tokenizer.token_to_id("<|im_end|>")
    files = {
        "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>",
                                  "chat_template": TEMPLATE, "model_max_length": 512},
        "generation_config.json": {"eos_token_id": end, "do_sample": True, "temperature": 1.0},
        "config.json": {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "vocab_size": VOCABULARY, "hidden_size": 128,
                        "intermediate_size": 384, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
                        "hidden_act": "silu", "max_position_embeddings": 512, "rms_norm_eps": 1e-6, "rope_theta": 10000.0,
                        "tie_word_embeddings": True, "use_sliding_window": False, "attention_dropout": 0.0, "initializer_range": 0.05,
                        "eos_token_id": end, "pad_token_id": tokenizer.token_to_id("<|endoftext|>"), "torch_dtype": "bfloat16"},
    }
    for name, content in files.items():
        with open("base/" + name, "w") as file:
            json.dump(content, file, indent=2)
            file.write("\n")
    row = rows[HELD_OUT]
    print(row, len(tokenizer.encode(row["problem"]).ids), tokenizer.encode(row["problem"]).tokens, len(tokenizer.encode(row["solution"]).ids))


if __name__ == "__main__":
    main()
