"""Layouts: reads from a sentence model's files how it is used, and checks them before anything is loaded."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from ltst.errors import Invalid

MEAN, CLS = "mean", "cls"
# Dividing a sum by its length, or the root of that, does not change its direction.
POOLINGS = {"pooling_mode_mean_tokens": MEAN, "pooling_mode_mean_sqrt_len_tokens": MEAN, "pooling_mode_cls_token": CLS}
PASSAGES = ("document", "passage", "corpus")
MODULES = ("Transformer", "Pooling", "Normalize")
LONGEST = 512
LARGEST_JSON = 1024 * 1024
ACCEPTED = (
    "model.onnx (or onnx/model.onnx, or one other .onnx file), tokenizer.json as the package `tokenizers` writes it, "
    "and, where it has them, modules.json, 1_Pooling/config.json and config_sentence_transformers.json"
)


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the files of a model are, and what they say about it."""

    weights: Path
    tokenizer: Path
    pooling: str
    longest: int
    question_prefix: str
    passage_prefix: str

    def name(self) -> str:
        """Returns the folder's name and a hash of its content, so that changed files are another model."""
        with self.weights.open("rb") as file:
            digest = file_digest(file, "sha256").digest()
        told = f"{self.pooling}\0{self.longest}\0{self.question_prefix}\0{self.passage_prefix}".encode()
        whole = sha256(digest + sha256(self.tokenizer.read_bytes()).digest() + told).hexdigest()
        folder = self.tokenizer.parent
        return f"{(folder.parent if folder.name == 'onnx' else folder).name[:80]}-{whole[:12]}"


def read(folder: Path) -> Layout:
    """Returns what a folder's files say; raises Invalid if they are not those of a usable model."""
    folder = folder.expanduser().absolute()
    if not folder.is_dir():
        raise Invalid(f"there is no folder {folder}; local:FOLDER is a folder with {ACCEPTED}")
    weights, tokenizer = _weights(folder), _tokenizer(folder)
    modules = _modules(folder)
    prompts = _prompts(folder)
    fallback = prompts.get("", "")
    return Layout(
        weights=weights,
        tokenizer=tokenizer,
        pooling=_pooling(folder / modules.get("Pooling", "1_Pooling") / "config.json"),
        longest=_longest(folder),
        question_prefix=prompts.get("query", fallback),
        passage_prefix=next((prompts[name] for name in PASSAGES if name in prompts), fallback),
    )


def _weights(folder: Path) -> Path:
    for place in (folder, folder / "onnx"):
        if (place / "model.onnx").is_file():
            return place / "model.onnx"
    found = sorted([*folder.glob("*.onnx"), *folder.glob("onnx/*.onnx")])
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(str(each.relative_to(folder)) for each in found[:10])
        raise Invalid(f"{folder} holds several models ({names}): name the one that is meant model.onnx")
    raise Invalid(f"{folder} holds no model: local:FOLDER is a folder with {ACCEPTED}")


def _tokenizer(folder: Path) -> Path:
    for place in (folder, folder / "onnx"):
        if (place / "tokenizer.json").is_file():
            return place / "tokenizer.json"
    raise Invalid(
        f"{folder} holds no tokenizer.json, which is needed; a vocab.txt or a SentencePiece model is not read, but the "
        "package `transformers` writes a tokenizer.json from either (AutoTokenizer, save_pretrained)"
    )


def _modules(folder: Path) -> dict[str, str]:
    """Returns the folder of each module of a sentence-transformers model, by the module's name."""
    listed = _json(folder / "modules.json", list)
    modules = {}
    for each in listed:
        if not isinstance(each, dict) or not isinstance(each.get("type"), str):
            raise Invalid(f"{folder / 'modules.json'} must be a list of modules, each with a type and a path")
        name = each["type"].rsplit(".", 1)[-1]
        if name not in MODULES:
            raise Invalid(
                f"the model in {folder} has a module {name}, which is not accepted; accepted are {', '.join(MODULES)}"
            )
        modules[name] = _inside(str(each.get("path", "")), folder)
    return modules


def _inside(path: str, folder: Path) -> str:
    if Path(path).is_absolute() or ".." in Path(path).parts:
        raise Invalid(f"{folder / 'modules.json'} names the path {path!r}, which is outside of its folder")
    return path


def _pooling(config: Path) -> str:
    said = _json(config, dict)
    named = said.get("pooling_mode")
    chosen = (
        [named]
        if named is not None
        else [name for name, on in said.items() if name.startswith("pooling_mode_") and on is True]
    )
    known = [each if each in (MEAN, CLS) else POOLINGS.get(str(each)) for each in chosen]
    if not chosen:
        return MEAN
    if len(known) != 1 or known[0] is None:
        raise Invalid(f"{config} asks for the pooling {', '.join(map(str, chosen))}; accepted are one of {MEAN}, {CLS}")
    return known[0]


def _prompts(folder: Path) -> dict[str, str]:
    """Returns the words that go before a text, by its kind; those under "" apply to any other kind."""
    path = folder / "config_sentence_transformers.json"
    said = _json(path, dict)
    prompts = said.get("prompts") or {}
    if not isinstance(prompts, dict) or not all(isinstance(each, str) for each in prompts.values()):
        raise Invalid(f'prompts in {path} must be texts by their names, such as {{"query": "query: "}}')
    default = said.get("default_prompt_name")
    # Empty prompts stand for none.
    told = {name: prompt for name, prompt in prompts.items() if prompt}
    return told | ({"": prompts[default]} if default in prompts else {})


def _longest(folder: Path) -> int:
    """Returns how many pieces the model reads: the least that its files allow."""
    said = (
        _json(folder / "sentence_bert_config.json", dict).get("max_seq_length"),
        _json(folder / "tokenizer_config.json", dict).get("model_max_length"),
        _json(folder / "config.json", dict).get("max_position_embeddings"),
    )
    known = [each for each in said if isinstance(each, int) and not isinstance(each, bool) and each > 0]
    return max(min([LONGEST, *known]), 8)


def _json(path: Path, kind: type[Any]) -> Any:
    """Returns the content of a JSON file; an empty value of that kind if there is no such file."""
    if not path.is_file():
        return kind()
    try:
        if path.stat().st_size > LARGEST_JSON:
            raise ValueError("it is larger than a mebibyte")
        said = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as problem:
        raise Invalid(f"{path} cannot be read as JSON: {problem}") from problem
    if not isinstance(said, kind):
        raise Invalid(f"{path} must hold a JSON {'object' if kind is dict else 'array'}")
    return said
