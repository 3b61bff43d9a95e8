"""LangChain: stores that use a user's items: bytes by key, documents by vector, and a cache of model answers."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from typing import Any

from ltst import adapters
from ltst.adapters import Ask, awaited, both, called, finished
from ltst.errors import Invalid
from ltst.memory import AsyncUser
from ltst.records import Item
from ltst.support.ids import new_id
from ltst.support.text import sha256
from ltst.sync import User

with adapters.needed("langchain", "langchain"):
    from langchain_core._api import LangChainBetaWarning
    from langchain_core.caches import BaseCache
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.load import dumps, loads
    from langchain_core.stores import ByteStore
    from langchain_core.vectorstores import VectorStore

# The maximum number of operations in a batch.
BATCH = 10_000


class _Namespace:
    """A user's items in one namespace, read and written in batches."""

    def __init__(self, user: AsyncUser | User, namespace: Sequence[str]) -> None:
        adapters.check_user(user)
        self.items = user.items
        self.namespace = tuple(namespace)

    async def get(self, ask: Ask, keys: Sequence[str]) -> list[Item | None]:
        """Returns items in the order of their keys; None for missing ones."""
        return await self._do(ask, [{"do": "get", "key": key} for key in keys])

    async def put(self, ask: Ask, given: Iterable[tuple[str, Any]], **how: Any) -> None:
        """Stores values under their keys."""
        await self._do(ask, [{"do": "put", "key": key, "value": value, **how} for key, value in given])

    async def put_each(self, ask: Ask, given: Iterable[dict[str, Any]]) -> None:
        """Stores values, each with its own options."""
        await self._do(ask, [{"do": "put", **each} for each in given])

    async def delete(self, ask: Ask, keys: Iterable[str]) -> None:
        """Removes items, ignoring missing keys."""
        await self._do(ask, [{"do": "delete", "key": key} for key in keys])

    async def keys(self, ask: Ask) -> list[str]:
        """Returns all keys."""
        listed = await ask(self.items.list, self.namespace, limit=adapters.MOST)
        return [item.key for item in listed if item.namespace == self.namespace]

    async def _do(self, ask: Ask, operations: Sequence[dict[str, Any]]) -> list[Any]:
        placed = [{**each, "namespace": self.namespace} for each in operations]
        done: list[Any] = []
        for at in range(0, len(placed), BATCH):
            done += await ask(self.items.batch, placed[at : at + BATCH])
        return done


class LtstByteStore(ByteStore):
    """Bytes under keys, stored as a user's items; for CacheBackedEmbeddings, MultiVectorRetriever and others."""

    def __init__(self, user: AsyncUser | User, *, namespace: Sequence[str] = ("langchain", "bytes")) -> None:
        """Stores bytes in a namespace of a user's items."""
        self._items = _Namespace(user, namespace)

    async def _get(self, ask: Ask, keys: Sequence[str]) -> list[bytes | None]:
        """Returns values in the order of their keys; None for missing ones."""
        return [None if item is None else item.value for item in await self._items.get(ask, keys)]

    async def _set(self, ask: Ask, key_value_pairs: Sequence[tuple[str, bytes]]) -> None:
        """Stores values under their keys."""
        await self._items.put(ask, key_value_pairs, fields=())

    async def _delete(self, ask: Ask, keys: Sequence[str]) -> None:
        """Removes values, ignoring missing keys."""
        await self._items.delete(ask, keys)

    mget, amget = both(_get)
    mset, amset = both(_set)
    mdelete, amdelete = both(_delete)

    def yield_keys(self, *, prefix: str | None = None) -> Iterator[str]:
        """Yields the keys that begin with a prefix."""
        yield from (key for key in finished(self._items.keys(called)) if key.startswith(prefix or ""))

    async def ayield_keys(self, *, prefix: str | None = None) -> AsyncIterator[str]:
        """Yields the keys that begin with a prefix."""
        for key in await self._items.keys(awaited):
            if key.startswith(prefix or ""):
                yield key


class LtstCache(BaseCache):
    """A cache of model answers, stored as a user's items; pass it to `set_llm_cache`."""

    def __init__(
        self,
        user: AsyncUser | User,
        *,
        ttl: float | None = None,
        namespace: Sequence[str] = ("langchain", "cache"),
    ) -> None:
        """Stores answers in a namespace of a user's items, for `ttl` seconds or forever."""
        self._items = _Namespace(user, namespace)
        self._how = {"fields": (), **({} if ttl is None else {"ttl": ttl})}

    async def _lookup(self, ask: Ask, prompt: str, llm_string: str) -> Any:
        """Returns the cached answer of a model to a prompt, or None."""
        (item,) = await self._items.get(ask, [_digest(prompt, llm_string)])
        if item is None:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LangChainBetaWarning)  # users of the cache cannot do anything about it
            return [loads(each, allowed_objects="core") for each in item.value]

    async def _update(self, ask: Ask, prompt: str, llm_string: str, return_val: Any) -> None:
        """Caches the answer of a model to a prompt."""
        answer = (_digest(prompt, llm_string), [dumps(each) for each in return_val])
        await self._items.put(ask, [answer], **self._how)

    async def _clear(self, ask: Ask, /, **options: Any) -> None:
        """Removes all answers."""
        await self._items.delete(ask, await self._items.keys(ask))

    lookup, alookup = both(_lookup)
    update, aupdate = both(_update)
    clear, aclear = both(_clear)


class LtstVectorStore(VectorStore):
    """Documents of a user, found by the vectors of LangChain's embeddings or, without those, by ltst's own search."""

    def __init__(
        self,
        user: AsyncUser | User,
        embedding: Embeddings | None = None,
        *,
        namespace: Sequence[str] = ("langchain", "documents"),
    ) -> None:
        """Stores documents in a namespace of a user's items."""
        self._items = _Namespace(user, namespace)
        self._embedding = embedding

    @property
    def embeddings(self) -> Embeddings | None:
        """Returns the model that makes the vectors."""
        return self._embedding

    async def _add(
        self,
        ask: Ask,
        /,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **options: Any,
    ) -> list[str]:
        """Stores texts, replacing those with the same ids; returns the ids."""
        given = list(texts)
        if any(each is not None and len(each) != len(given) for each in (metadatas, ids)):
            raise Invalid(f"there must be as many metadatas and ids as texts, {len(given)}")
        vectors = await self._vectors(ask, given)
        named = [each or new_id() for each in ids or [""] * len(given)]
        await self._items.put_each(
            ask,
            (
                {
                    "key": key,
                    "value": {"text": text, "metadata": metadatas[at] if metadatas else {}},
                    "fields": ("text",),
                    **({} if vectors is None else {"vectors": [vectors[at]]}),
                }
                for at, (key, text) in enumerate(zip(named, given, strict=True))
            ),
        )
        return named

    async def _delete(self, ask: Ask, /, ids: list[str] | None = None, **options: Any) -> bool:
        """Removes documents; without ids, all of them."""
        await self._items.delete(ask, await self._items.keys(ask) if ids is None else ids)
        return True

    async def _get(self, ask: Ask, ids: Sequence[str], /) -> list[Document]:
        """Returns the documents that exist, in the order of the ids."""
        return [_document(item) for item in await self._items.get(ask, ids) if item]

    async def _search_with_score(self, ask: Ask, *args: Any, **kwargs: Any) -> list[tuple[Document, float]]:
        """Returns the nearest documents with their scores; 1 is the nearest."""
        query, k, filter = _asked(*args, **kwargs)
        return await self._found(ask, k, filter, await self._wanted(ask, query))

    async def _search(self, ask: Ask, /, query: str, k: int = 4, **options: Any) -> list[Document]:
        """Returns the documents nearest to a query, the best first; `filter` works as in a search of items."""
        return [found for found, _ in await self._search_with_score(ask, query, k, **options)]

    add_texts, aadd_texts = both(_add)
    delete, adelete = both(_delete)
    get_by_ids, aget_by_ids = both(_get)
    similarity_search, asimilarity_search = both(_search)
    similarity_search_with_score, asimilarity_search_with_score = both(_search_with_score)

    def similarity_search_by_vector(self, embedding: list[float], k: int = 4, **options: Any) -> list[Document]:
        """Returns the documents whose vectors are nearest to this one."""
        wanted = {"vector": embedding}
        return [found for found, _ in finished(self._found(called, k, options.get("filter"), wanted))]

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda score: score

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        user: User | None = None,
        **options: Any,
    ) -> LtstVectorStore:
        """Returns a store of `user` filled with texts."""
        if user is None:
            raise Invalid("user must be memory.user(...)")
        made = cls(user, embedding, **options)
        made.add_texts(texts, metadatas, ids=ids)
        return made

    async def _vectors(self, ask: Ask, texts: list[str]) -> list[list[float]] | None:
        if self._embedding is None:
            return None
        awaits = ask is awaited
        return await self._embedding.aembed_documents(texts) if awaits else self._embedding.embed_documents(texts)

    async def _wanted(self, ask: Ask, query: str) -> dict[str, Any]:
        """Returns what a query is found by: its vector, or its words in ltst's own index."""
        if self._embedding is None:
            return {"query": query}
        awaits = ask is awaited
        return {"vector": await self._embedding.aembed_query(query) if awaits else self._embedding.embed_query(query)}

    async def _found(
        self, ask: Ask, k: int, filter: dict[str, Any] | None, wanted: dict[str, Any]
    ) -> list[tuple[Document, float]]:
        narrowed = {"metadata": filter} if filter else None
        found = await ask(self._items.items.search, self._items.namespace, limit=k, filter=narrowed, **wanted)
        return [(_document(item), item.score or 0.0) for item in found]


def _asked(query: str, k: int = 4, filter: dict[str, Any] | None = None, **options: Any) -> tuple[str, int, Any]:
    return query, k, filter


def _document(item: Item) -> Document:
    return Document(id=item.key, page_content=item.value["text"], metadata=item.value["metadata"])


def _digest(prompt: str, llm_string: str) -> str:
    return sha256(adapters.as_json([prompt, llm_string]))
