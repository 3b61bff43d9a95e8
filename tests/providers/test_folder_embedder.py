"""Models of a folder: read as their files say, and refused with a sentence where they cannot be."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ltst import Invalid, Memory, ModelUnavailable, Settings
from ltst.providers import local
from ltst.providers.embedding import Embedding
from ltst.providers.folder import FolderEmbedder
from ltst.providers.local import LocalEmbedder
from ltst.providers.named import embedder_named

TEXTS = ["I moved to Lisbon in March.", "Where do I live?", "I like tea [SEP] I hate coffee", "", "word " * 400]


def tokenizer() -> Any:
    from tokenizers import BertWordPieceTokenizer

    vocabulary = resources.files("ltst.providers") / "data" / "bert-uncased-vocab.txt"
    with resources.as_file(vocabulary) as path:
        return BertWordPieceTokenizer(str(path), lowercase=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The model that ltst comes with, in the layout of sentence-transformers."""
    place = tmp_path / "minilm"
    (place / "1_Pooling").mkdir(parents=True)
    (place / "onnx").mkdir()
    shutil.copy(local.weights_file(), place / "onnx" / "model.onnx")
    tokenizer().save(str(place / "tokenizer.json"))
    kinds = ["sentence_transformers.models.Transformer", "sentence_transformers.models.Pooling"]
    paths = ["", "1_Pooling"]
    modules = [{"idx": n, "type": kind, "path": path} for n, (kind, path) in enumerate(zip(kinds, paths, strict=True))]
    write(place / "modules.json", modules)
    write(place / "1_Pooling" / "config.json", {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False})
    write(place / "sentence_bert_config.json", {"max_seq_length": 256})
    return place


def write(path: Path, said: object) -> None:
    path.write_text(json.dumps(said))


def test_vectors_are_those_of_the_model(folder: Path) -> None:
    embedder = FolderEmbedder(folder)
    assert embedder.dimensions == 384
    assert (embedder.embed(TEXTS) * LocalEmbedder().embed(TEXTS)).sum(axis=1).min() > 0.9999
    assert embedder.embed([]).shape == (0, 384)
    assert embedder.lengths(["one two three", "word " * 500]) == [5, 256]


def test_parts_are_read_whole_and_are_the_text_again(folder: Path) -> None:
    embedder, text = FolderEmbedder(folder), "We went on about this and that. " * 200
    parts = embedder.parts(text, room=20)
    assert "".join(parts) == text and len(parts) > 1
    assert max(embedder.lengths(parts)) <= 256 - 20


def test_the_first_state_is_taken_where_the_files_say_so(folder: Path) -> None:
    mean = FolderEmbedder(folder).embed(["Where do I live?"])
    write(folder / "1_Pooling" / "config.json", {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False})
    first = FolderEmbedder(folder).embed(["Where do I live?"])
    assert (mean * first).sum() < 0.99


def test_without_a_layout_it_is_the_mean(folder: Path) -> None:
    for name in ("modules.json", "sentence_bert_config.json", "1_Pooling/config.json"):
        (folder / name).unlink()
    same = (FolderEmbedder(folder).embed(TEXTS[:3]) * LocalEmbedder().embed(TEXTS[:3])).sum(axis=1)
    assert same.min() > 0.9999


async def test_questions_and_passages_get_their_words(folder: Path) -> None:
    prompts = {"prompts": {"query": "query: ", "passage": "passage: "}, "default_prompt_name": None}
    write(folder / "config_sentence_transformers.json", prompts)
    embedder = FolderEmbedder(folder)
    embedding = Embedding(embedder)
    asked = await embedding.vectors(["tea"], question=True)
    told = await embedding.vectors(["tea"])
    await embedding.close()
    assert np.allclose(asked, embedder.embed(["query: tea"]), atol=1e-5)
    assert np.allclose(told, embedder.embed(["passage: tea"]), atol=1e-5)
    whole = FolderEmbedder(folder).parts("word " * 1000)
    assert max(embedder.lengths(["passage: " + part for part in whole])) <= 256


def test_changed_files_are_another_model(folder: Path) -> None:
    before = FolderEmbedder(folder).name
    assert before.startswith("minilm-") and FolderEmbedder(folder).name == before
    write(folder / "1_Pooling" / "config.json", {"pooling_mode_cls_token": True})
    assert FolderEmbedder(folder).name != before


def _remove(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def _say(name: str, said: object) -> Callable[[Path], None]:
    return lambda folder: write(folder / name, said)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (_remove("onnx/model.onnx"), "holds no model"),
        (_remove("tokenizer.json"), "holds no tokenizer.json"),
        (_say("modules.json", [{"type": "sentence_transformers.models.Dense", "path": "2_Dense"}]), "module Dense"),
        (_say("modules.json", {"type": "x"}), "JSON array"),
        (_say("modules.json", [{"type": "a.Pooling", "path": "../../etc"}]), "outside of its folder"),
        (_say("1_Pooling/config.json", {"pooling_mode_max_tokens": True}), "accepted are one of mean, cls"),
        (_say("config_sentence_transformers.json", {"prompts": {"query": 1}}), "prompts in"),
        (lambda folder: (folder / "modules.json").write_text("{"), "cannot be read as JSON"),
        (lambda folder: (folder / "onnx/model.onnx").rename(folder / "a.onnx") and
            shutil.copy(folder / "a.onnx", folder / "b.onnx"), "several models"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_before_it_is_loaded(
    folder: Path, change: Callable[[Path], None], told: str
) -> None:
    change(folder)
    with pytest.raises(Invalid, match=told):
        FolderEmbedder(folder)


def test_what_is_no_model_is_told_when_it_is_loaded(folder: Path) -> None:
    (folder / "onnx" / "model.onnx").write_bytes(b"no model")
    with pytest.raises(ModelUnavailable, match="cannot be loaded as an ONNX model"):
        FolderEmbedder(folder).embed(["a"])


def test_a_tokenizer_that_is_none_is_told(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelUnavailable, match="not a tokenizer"):
        FolderEmbedder(folder).embed(["a"])


def test_names(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="there is no folder"):
        embedder_named(f"local:{tmp_path}/nothing")
    for name in ("local:", "multi", "openai:"):
        with pytest.raises(Invalid, match="local:FOLDER"):
            embedder_named(name)
        with pytest.raises(Invalid, match="embedder must be"):
            Settings(embedder=name)


def test_a_database_is_switched_to_a_folder_and_noticed_when_it_changes(
    folder: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    with Memory(database_url, settings=Settings(worker=False)) as memory:
        user = memory.user("ana")
        user.chat("monday").add("user", "I moved to Lisbon in March.")
        memory.settle("ana")
        memory.switch_embedder(f"local:{folder.name}")
        assert memory.embedder_model() == FolderEmbedder(folder).name
    monkeypatch.chdir("/")
    with Memory(database_url, settings=Settings(worker=False)) as memory:
        (hit, *_) = memory.user("ana").search("Which town is home?")
        assert "dense" in hit.scores
    write(folder / "sentence_bert_config.json", {"max_seq_length": 128})
    with Memory(database_url, settings=Settings(worker=False)) as memory:
        (hit, *_) = memory.user("ana").search("Lisbon")
        assert "dense" not in hit.scores, "found by its words, since the vectors are of another model"
        with pytest.raises(ModelUnavailable, match="bring that back"):
            memory.embed(["a"])
