"""Searches and prompt contexts for one user: validates arguments, indexes new rows, searches and packs the prompt."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from ltst.arguments import ENTRY_TYPES, STRATEGIES, Filters, SearchFilters
from ltst.db.connections import Reals
from ltst.errors import Invalid, ModelUnavailable, shown
from ltst.handles import windows
from ltst.handles.contexts import values
from ltst.handles.desk import Desk, now
from ltst.handles.preferences import AsyncPreferences, left_out
from ltst.learn.weigh import NO_AGENT
from ltst.providers.rerank import reranked
from ltst.recall import later
from ltst.recall.context import Context, Ingredients, Ready, TokenCounter, checked_budget, made_ready, pack
from ltst.recall.worth import worth_telling
from ltst.records import KINDS, SEARCHED, ConversationContext, ConversationMessage, Hit, Instruction, UserPreference
from ltst.rooms import cache, instructions, known, models, search
from ltst.rooms.messages import Opening
from ltst.support import tokens, validate
from ltst.support.logs import LOGGER
from ltst.support.place import end
from ltst.support.smalltalk import is_small_talk
from ltst.support.terms import terms
from ltst.support.text import sha256

if TYPE_CHECKING:
    from ltst.providers.embedding import Embedding
    from ltst.recall.retrieve import Question
    from ltst.rooms.search import Look

RANGES = ("gt", "gte", "lt", "lte")
# Maximum hits for a context; as many short ones fit into two thousand tokens.
RECALLED = 60
# Maximum turns shown word for word. With a summary, all turns after it are read so that none is missing in between.
WINDOW = {"sliding_window": 50, "sliding_window_summary": 1000}
# Number of hits given to a reranker.
RERANKED = 50
# Maximum offset of a search.
FURTHEST = 1000
# How often to repeat a search if the embedding model changes meanwhile.
ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Search:
    """A search with validated arguments."""

    text: str  # empty if there is no query in words
    now: datetime | None
    filters: Filters
    limit: int
    floor: float | None
    offset: int = 0
    vector: tuple[float, ...] | None = None  # used instead of the vector of the text

    @property
    def again(self) -> bool:
        """Whether its result is worth caching; an answer to a stored message changes the memory and invalidates it."""
        return self.filters.without is None

    def key(self, question: Question) -> str:
        """Returns the cache key. It includes the model, and the current day only if the query mentions time."""
        day = question.now.date() if self.now is None and question.intervals else None
        return sha256(repr((self, question.model, day)))


def checked(
    desk: Desk, query: object, limit: object, given: SearchFilters, *, offset: object = 0, vector: object = None
) -> Search:
    """Returns validated search arguments; raises Invalid if one is wrong."""
    if unknown := given.keys() - SearchFilters.__annotations__.keys():
        raise TypeError(f"search takes no {', '.join(sorted(unknown))}")
    equal, ranges = conditions(given.get("where"))
    entry_type, without, floor = given.get("entry_type"), given.get("without"), given.get("floor")
    if query is None and vector is None and floor is not None:
        raise Invalid("floor is the least relevance to a question: give query or vector too")
    filters = Filters(
        kinds=_kinds(given.get("kinds")),
        entry_type=validate.optional_choice(entry_type, "entry_type", ENTRY_TYPES),
        session_id=validate.optional_identifier(given.get("session_id"), "session_id"),
        since=validate.optional_moment(given.get("since"), "since"),
        until=validate.optional_moment(given.get("until"), "until"),
        equal=equal,
        ranges=ranges,
        without=None if without is None else sha256(desk.content(without, "without")),
    )
    return Search(
        "" if query is None else desk.content(query, "query"),
        validate.optional_moment(given.get("now"), "now"),
        filters,
        validate.limit(limit, most=200),
        None if floor is None else validate.score(floor, "floor"),
        validate.offset(offset, most=FURTHEST),
        None if vector is None else _direction(vector),
    )


async def find(desk: Desk, wanted: Search) -> list[Hit]:
    """Returns the best hits. New rows of the user are indexed first, so that they can be found."""
    from ltst.recall.retrieve import hits  # imported late because it needs numpy

    core, reranker = desk.core, desk.core.models.reranker if wanted.text else None
    pooled, last = later.COMPARED if reranker is None else RERANKED, wanted.offset + wanted.limit
    async with core.measured("context_search", "search", desk.user_id, wanted.filters.session_id) as tally:
        if wanted.text or wanted.vector is not None:
            best, tally.cache_hit = await _find_best(desk, replace(wanted, limit=max(pooled, last), offset=0))
        else:
            best = await _find_newest(desk, replace(wanted, limit=last))
        found = await hits(await core.reads(desk.user_id), desk.user_id, best)
        if reranker is None:
            found = later.holding_first(wanted.text, found)
        else:
            found = await asyncio.to_thread(reranked, reranker, wanted.text, found)
        page = found[wanted.offset : last]
        tally.rows = len(page)
    return page


class Wanted(NamedTuple):
    """What a context is built for: the query, its topic if that differs, and the limits."""

    query: str | None
    stored: ConversationMessage | None  # the query, if it is already a message of the conversation
    about: str | None
    max_tokens: int
    strategy: str
    window: int | None


def wanted_context(
    desk: Desk,
    query: str | ConversationMessage | None,
    about: str | None,
    *,
    max_tokens: int,
    strategy: str,
    window: int | None,
) -> Wanted:
    """Returns validated context arguments; raises Invalid if one is wrong."""
    stored = query if isinstance(query, ConversationMessage) else None
    text = query.content if isinstance(query, ConversationMessage) else query
    return Wanted(
        query=None if text is None else desk.content(text, "query"),
        stored=stored,
        about=None if about is None else desk.content(about, "about"),
        max_tokens=checked_budget(max_tokens),
        strategy=validate.choice(strategy, "strategy", STRATEGIES),
        window=None if window is None else validate.limit(window, "window"),
    )


async def assemble(desk: Desk, opening: Opening, wanted: Wanted) -> Context:
    """Gathers what may go into the prompt and returns it packed. A stored query is not recalled as a memory."""
    stored, topic = wanted.stored, wanted.query if wanted.about is None else wanted.about
    filters = Filters(without=None if stored is None else sha256(stored.content))
    # Read what needs no search at the same time.
    beside = asyncio.create_task(_prepare(desk, opening, wanted, topic))
    try:
        found = [] if topic is None else await _worth_recalling(desk, topic, filters)
    except BaseException:
        await end(beside)
        raise
    async with desk.core.measured("merging", "context", desk.user_id, opening.session_id) as tally:
        known, ready = await beside
        ingredients = _add_hits(known, found, opening.session_id)
        packed = pack(ingredients, wanted.max_tokens, _counter(desk), wanted.strategy, ready)
        tally.rows = len(packed.sections)
    _count_shown(desk, packed, found)
    return packed


async def _worth_recalling(desk: Desk, topic: str, filters: Filters) -> list[Hit]:
    """Returns the hits about a topic that are worth telling; does not search for small talk."""
    if is_small_talk(topic):
        return []
    return worth_telling(await find(desk, Search(topic, None, filters, RECALLED, None)), topic)


def _count_shown(desk: Desk, packed: Context, found: Sequence[Hit]) -> None:
    """Counts what the prompt shows as used. An episode also counts if all of its messages are shown instead."""
    desk.core.shown(desk.user_id, "preference", packed.preferences)
    shown, told = {each.id for each in packed.memories}, {*packed.sources}
    used = (each for each in found if each.id in shown or (each.sources and told.issuperset(each.sources)))
    desk.core.shown(desk.user_id, "entry", [*dict.fromkeys(each.id for each in used if each.kind == "entry")])


async def _find_newest(desk: Desk, wanted: Search) -> list[dict[str, Any]]:
    """Returns the newest units that pass the filters, all with score 0 because there is no query."""
    database = await desk.core.reads(desk.user_id)
    if await search.is_due(database.user(desk.user_id)) and await _indexed_soon(desk, None) is not None:
        database = desk.core.database
    moment = wanted.now or now()
    numbers = await search.newest(database.user(desk.user_id), wanted.filters, now=moment, limit=wanted.limit)
    return [{"key": number, "score": 0.0, "scores": {}} for number in numbers]


async def _find_best(desk: Desk, wanted: Search) -> tuple[list[dict[str, Any]], bool]:
    """Returns the numbers and scores of the best units, and whether they came from the cache."""
    from ltst.recall.retrieve import ranked

    core, started = desk.core, time.perf_counter()
    active = core.models.known or await models.get((await core.reads(desk.user_id)).keeper())
    for _ in range(ATTEMPTS):
        question, embedding = await _question(desk, wanted, active)
        key = wanted.key(question)
        seen, complete = await _look(desk, wanted, key, question, embedding)
        if seen.cached is not None:
            if not core.database.read_only:
                core.later(cache.count_hit(core.database.user(desk.user_id), key))
            return cache.unpacked(seen.cached), True
        if seen.looked:
            break
        active = None if seen.model is None else models.Model(seen.model, seen.dimensions or 0, seen.source)
    best = ranked(question, seen, limit=wanted.limit, floor=wanted.floor)
    if wanted.again and complete and not seen.changing:
        elapsed, said = (time.perf_counter() - started) * 1000, sha256(wanted.text)
        core.keep(cache.Retrieval(desk.user_id, key, said, wanted.filters.session_id, best, seen.version, elapsed))
    return best, False


async def _look(
    desk: Desk, wanted: Search, key: str, question: Question, embedding: Embedding | None
) -> tuple[Look, bool]:
    """Indexes what can be indexed quickly; returns the lookup, and whether its result may be cached."""
    from ltst.recall.retrieve import look

    database, asked = await desk.core.reads(desk.user_id), (question, wanted.filters, key)
    seen = await look(database, desk.user_id, *asked, limit=wanted.limit, anyway=False)
    if not seen.due:
        # A standby cannot tell whether somebody is writing at this moment.
        return seen, embedding is not None and not database.follows
    complete = await _indexed_soon(desk, embedding)
    if complete is not None:
        database = desk.core.database
    return await look(database, desk.user_id, *asked, limit=wanted.limit, anyway=True), bool(complete)


async def _indexed_soon(desk: Desk, embedding: Embedding | None) -> bool | None:
    """Indexes what it can while a search waits; returns whether that was all, or None if the database is read-only."""
    from ltst.indexing.index import index_soon

    database = desk.core.database
    if database.read_only:
        return None
    complete = await index_soon(database, desk.user_id, embedding, parts=desk.settings.embedded_parts)
    database.wrote(desk.user_id)  # another process may have indexed them, so a standby must catch up before it is read
    return complete


async def _question(desk: Desk, wanted: Search, active: models.Model | None) -> tuple[Question, Embedding | None]:
    """Returns the query with its vector and its embedder; without both if no model is available."""
    from ltst.recall.retrieve import Question

    moment, given = wanted.now or now(), wanted.now is not None
    if active is None and desk.core.database.read_only and wanted.vector is None:
        # Nothing has a vector yet, and a read-only database cannot be given a model.
        return Question(wanted.text, moment, given=given), None
    try:
        embedding = await desk.core.models.embedding(desk.core.database, active)
        vector = await _vector(desk, wanted, embedding)
    except ModelUnavailable as problem:
        if wanted.vector is not None:
            raise
        # Search by words still works.
        LOGGER.warning("search goes without vectors", extra={"reason": str(problem)})
        return Question(wanted.text, moment, given=given), None
    return Question(wanted.text, moment, embedding.name, vector, given), embedding


async def _vector(desk: Desk, wanted: Search, embedding: Embedding) -> Reals:
    """Returns the vector to search with: the given one, if it has the model's dimensions, else that of the text."""
    if wanted.vector is None:
        return await desk.core.question_vector(embedding, wanted.text)
    if (given := len(wanted.vector)) != (size := await embedding.dimensions()):
        raise Invalid(f"vector must have {size} numbers, as those of {embedding.name} have, not {given}")
    return Reals.of(wanted.vector)


def _direction(vector: object) -> tuple[float, ...]:
    """Returns a vector that has a direction; raises Invalid if it is all zeros."""
    numbers = tuple(validate.vector(vector, "vector"))
    if not any(numbers):
        raise Invalid("vector must not be all zeros")
    return numbers


def _ending_with(asking: ConversationMessage, window: Sequence[ConversationMessage]) -> list[ConversationMessage]:
    """Returns the window ending with the message to answer, without its answer and later questions."""
    index, answered = asking.message_index or 0, asking.message_id
    others = [each for each in window if each.parent_message_id != answered]
    return [*(each for each in others if each.role != "human" or (each.message_index or 0) < index), asking]


async def _prepare(desk: Desk, opening: Opening, wanted: Wanted, topic: str | None) -> tuple[Ingredients, Ready]:
    """Reads what needs no search and counts its tokens while the search runs."""
    ingredients = await _read_ingredients(desk, opening, wanted, topic)
    if wanted.stored is not None:
        ingredients = replace(ingredients, window=_ending_with(wanted.stored, ingredients.window))
    return ingredients, made_ready(ingredients, _counter(desk), wanted.strategy)


def _counter(desk: Desk) -> TokenCounter:
    return desk.settings.token_counter or tokens.count


async def _read_ingredients(desk: Desk, opening: Opening, wanted: Wanted, topic: str | None) -> Ingredients:
    """Returns everything that may go into the prompt except search results."""
    strategy, turns = wanted.strategy, wanted.window
    # If older turns are summarised, those not shown word for word are read too.
    fetched = turns if turns is not None and strategy == "sliding_window" else WINDOW[strategy]
    found, recent = await _read_known(desk, opening, fetched)
    by_hand, learnt = await _orders(desk, found.instruction)
    wishes = await _decrypt(desk, found.preferences)
    summary, window = _summary_and_turns(found.summary, recent, strategy)
    return Ingredients(
        instructions=by_hand,
        wishes=learnt,
        preferences=[each for each in wishes if each.note is None],
        notes=left_out(wishes),
        facts=found.facts,
        summary=summary,
        contexts=_relevant_contexts(found.contexts, opening.session_id, topic),
        working=values(found.working),
        window=window,
        query=wanted.query,
        topic=topic,
        turns=turns,
        today=now(),
    )


async def _read_known(desk: Desk, opening: Opening, turns: int) -> tuple[known.Known, list[ConversationMessage]]:
    """Returns what is known and the newest turns, in one call unless the turns come from a cache."""
    reads = await desk.core.reads(desk.user_id)
    asked = reads, desk.user_id, opening.session_id, opening.agent, NO_AGENT
    if desk.core.windows is None:
        found = await known.read(*asked, turns)
        return found, found.messages
    found, recent = await asyncio.gather(
        known.read(*asked, None), windows.read(desk.core, desk.user_id, opening.session_id, turns, None)
    )
    return found, recent.messages


def _add_hits(ingredients: Ingredients, found: list[Hit], session_id: str) -> Ingredients:
    return replace(
        ingredients,
        # The window already covers this conversation.
        episodes=[hit for hit in _of_kind("entry", found) if hit.session_id != session_id],
        documents=_of_kind("document", found),
        recalled=_of_kind("message", _match_window(found, ingredients.window)),
    )


async def _decrypt(desk: Desk, found: list[UserPreference]) -> list[UserPreference]:
    """Returns the preferences decrypted. If one is sensitive, all are read again, so that they are of one moment."""
    return await AsyncPreferences(desk).list() if any(each.sensitive for each in found) else found


def _relevant_contexts(
    merged: list[ConversationContext], session_id: str, topic: str | None
) -> list[ConversationContext]:
    """Returns the contexts of this conversation, then those of others that share words with the topic."""
    own = [each for each in merged if each.session_id == session_id]
    asked = set(terms(topic or ""))
    shared = {each.context_id: len(asked & _said_in(each)) for each in merged if each.session_id != session_id}
    others = [each for each in merged if shared.get(each.context_id)]
    return own + sorted(others, key=lambda each: -shared[each.context_id])


def _said_in(context: ConversationContext) -> set[str]:
    return {*terms(context.context_key.replace("_", " ")), *terms(context.context_value)}


async def _orders(desk: Desk, active: Instruction | None) -> tuple[str | None, list[str]]:
    """Returns the instruction set by hand, and separately the learned lines, which must not speak as the system."""
    if active is None or not active.learned:
        return active.content if active else None, []
    calls = (await desk.core.reads(desk.user_id)).user(desk.user_id)
    versions = await instructions.history(calls, active.agent_name)
    written = [each.content for each in versions if not each.learned]
    by_hand = written[-1] if written else ""
    return by_hand or None, active.content.removeprefix(by_hand).strip("\n").split("\n")


def _summary_and_turns(
    told: known.Summary | None, window: list[ConversationMessage], strategy: str
) -> tuple[str | None, list[ConversationMessage]]:
    """Returns the running summary and the turns to show beside it.

    With `sliding_window_summary` the turns that the summary covers are left out. Otherwise the summary is left out,
    unless turns are missing.
    """
    if told is None or not told.summarised_index:
        # A summary set by hand is always shown.
        return told.context_summary if told else None, window
    if strategy == "sliding_window_summary":
        return told.context_summary, [each for each in window if (each.message_index or 0) > told.summarised_index]
    whole = bool(window) and window[0].message_index == 1
    return None if whole else told.context_summary, window


def _match_window(found: list[Hit], window: Sequence[ConversationMessage]) -> list[Hit]:
    """Gives a hit whose message is also in the window the id of that copy, so that it is not shown twice."""
    copies = {(each.content, each.timestamp): str(each.message_id) for each in window}
    shown = [(hit, copies.get((hit.content, hit.occurred_at), hit.id)) for hit in found]
    return [hit if hit.id == id else replace(hit, id=id) for hit, id in shown]


def _of_kind(kind: str, found: list[Hit]) -> list[Hit]:
    return [hit for hit in found if hit.kind == kind]


def _kinds(kinds: Iterable[str] | None) -> tuple[str, ...]:
    if kinds is None:
        return SEARCHED
    if isinstance(kinds, str) or not isinstance(kinds, Iterable):
        raise Invalid(f"kinds must be a list of {', '.join(KINDS)}")
    wanted = tuple(validate.choice(kind, "each of kinds", KINDS) for kind in kinds)
    if not wanted:
        raise Invalid(f"kinds must name at least one of {', '.join(KINDS)}")
    return wanted


def conditions(where: object) -> tuple[str, list[tuple[str, str, str]]]:
    """Splits a filter into equality conditions, as one JSON object, and ranges."""
    if where is None:
        return "{}", []
    if not isinstance(where, Mapping):
        raise Invalid('where must be a mapping such as {"topic": "food"} or {"price": {"gte": 5}}')
    equal: dict[str, Any] = {}
    ranges: list[tuple[str, str, str]] = []
    for key, value in where.items():
        if isinstance(value, Mapping) and value and set(value) <= set(RANGES):
            ranges += [(_key(key), sign, _bound(bound)) for sign, bound in value.items()]
        else:
            equal[key] = value
    return validate.json_text(equal, "where", 100_000), ranges


def _key(key: object) -> str:
    return validate.short(key, "each key of where", 10_000)


def _bound(bound: object) -> str:
    if not isinstance(bound, int | float | str) or isinstance(bound, bool):
        raise Invalid(f"a range in where has numbers or texts as its bounds, not {shown(bound)}")
    return validate.json_text(bound, "where", 10_000)
