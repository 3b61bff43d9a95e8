"""Statements that a language model reads: quoted word for word, and struck out only where there is reason."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio

from helpers.embedders import opened
from helpers.learning import actions, day, run, say, timeline, values
from ltst import AsyncMemory, AsyncUser, Settings
from ltst.learn import model
from ltst.learn.quoted import SURE, Claimed, Noted
from ltst.records import Completion, ConversationMessage, Statement

NOW = datetime(2025, 6, 18, 15, tzinfo=UTC)
LIFE = "My sister Jo lives in Ghent. What's the weather like there? I bought a red bicycle last week."


def turn(text: str, role: str = "human", *, id: str = "m1", index: int = 1, at: datetime = NOW) -> ConversationMessage:
    return ConversationMessage("monday", role, text, message_id=id, message_index=index, timestamp=at)


def quote(words: Any, turn: Any = 1, **more: Any) -> dict[str, Any]:
    return {"turn": turn, "quote": words, "kind": "about_me", "about": "me", "replaces": [], "confidence": 0.8, **more}


def statement(content: str, *, id: str = "old", message: str = "m0", **more: Any) -> Statement:
    usual: dict[str, Any] = {"kind": "about_me", "about": "me", "said_at": NOW - timedelta(days=9), "origin": "gate"}
    usual |= {"confidence": 0.6, "start_at": 0, "end_at": len(content), "position": 1}
    known = {"since": None, "until": None, "superseded_by": None, "superseded_at": None, "trust": "normal"}
    given = {**usual, **known, **more}
    return Statement(
        content, message_id=message, session_id="monday", recorded_at=NOW, rejected_at=None, statement_id=id,
        user_id="ada", **given,
    )  # fmt: skip


def weighed(texts: Sequence[str] | str, noted: Noted | None = None, **answer: Any) -> model.Weighed:
    """What is kept of an answer about some turns, of which the first is m1."""
    said = [texts] if isinstance(texts, str) else texts
    turns = [turn(text, id=f"m{number}", index=number) for number, text in enumerate(said, 1)]
    return model.weigh(json.dumps(answer), model.shown_turns(turns), noted or Noted())


def spans(texts: Sequence[str] | str, *quotes: Any) -> list[str]:
    """The words of what is kept."""
    said = [texts] if isinstance(texts, str) else texts
    kept = weighed(texts, statements=[*quotes]).stated
    return [said[int(each.message_id[1:]) - 1][each.stated.start_at : each.stated.end_at] for each in kept]


class TestQuotations:
    def test_a_sentence_is_kept_as_it_stands(self) -> None:
        (kept,) = weighed(LIFE, statements=[quote("I bought a red bicycle last week.", kind="event")]).stated
        assert LIFE[kept.stated.start_at : kept.stated.end_at] == "I bought a red bicycle last week."
        assert (kept.stated.origin, kept.stated.confidence, kept.stated.kind) == ("model", 0.8, "event")
        assert kept.stated.since == datetime(2025, 6, 9, tzinfo=UTC)
        assert (kept.message_id, kept.known, kept.replaces) == ("m1", None, ())

    def test_most_of_a_sentence_is_the_sentence_and_a_short_part_is_itself(self) -> None:
        text = "I moved to Porto last year, and my sister Jo, who has always been the brave one, is a pilot."
        assert spans(text, quote("my sister Jo, who has always been the brave one, is a pilot")) == [text]
        assert spans(text, quote("I moved to Porto last year")) == ["I moved to Porto last year"]

    def test_two_sentences_are_two_statements(self) -> None:
        text = "Hi there! I live in Porto with my wife. I have two cats."
        both = ["I live in Porto with my wife.", "I have two cats."]
        assert spans(text, quote(" ".join(both))) == both

    def test_each_place_once(self) -> None:
        assert spans(LIFE, *[quote("I bought a red bicycle last week.")] * 3) == ["I bought a red bicycle last week."]

    def test_kinds_of_apostrophes_are_alike_and_other_letters_are_not(self) -> None:
        text = "I’ve two cats and a dog called “Rex”."
        assert spans(text, quote('I\'ve two cats and a dog called "Rex".')) == [text]
        assert spans(text, quote("i’ve two cats and a dog called “Rex”.")) == []

    def test_spans_count_characters_of_the_message_and_not_of_what_was_shown(self) -> None:
        text = "```\nx = 1\n```\n🐱 Hello! I live in Zürich with my wife."
        assert spans(text, quote("I live in Zürich with my wife.")) == ["I live in Zürich with my wife."]

    @pytest.mark.parametrize(
        "words",
        [
            "I bought a blue bicycle last week.",
            "I bought a red bicycle",  # of the second turn, which has other words
            "I bought a bicycle.",
            "My sister lives in Ghent.",
            "Meine Schwester Jo lebt in Gent.",
            "I bought a red bicycle last weekend.",
            "",
            " ",
            "I",
            "I bought a red bicycle last week. " * 100,
            None,
            7,
            ["I bought a red bicycle last week."],
            {"text": "I bought a red bicycle last week."},
        ],
    )
    def test_what_the_turn_does_not_say_is_refused(self, words: Any) -> None:
        texts = [LIFE, "Thank you, that is all."]
        assert spans(texts, quote(words, 2 if words == "I bought a red bicycle" else 1)) == []

    @pytest.mark.parametrize("part", ["My sister Jo lives in G", "y sister Jo lives in Ghent."])
    def test_words_end_where_words_end(self, part: str) -> None:
        assert spans(LIFE, quote(part)) == []

    @pytest.mark.parametrize("cited", [0, 2, 3, None, "one", True])
    def test_only_a_turn_of_the_user(self, cited: Any) -> None:
        turns = [turn("I have two cats."), turn("I have two cats.", "ai", id="m2"), turn("{}", "tool", id="m3")]
        answer = json.dumps({"statements": [quote("I have two cats.", cited)]})
        assert model.weigh(answer, model.shown_turns(turns)).stated == []

    @pytest.mark.parametrize("kind", ["fact", "", None, 3, ["plan"]])
    def test_kinds_are_a_closed_list(self, kind: Any) -> None:
        assert spans("I have two cats.", quote("I have two cats.", kind=kind)) == []

    def test_an_answer_that_breaks_off_or_has_words_around_it(self) -> None:
        shown = model.shown_turns([turn("I have two cats.")])
        whole = json.dumps(quote("I have two cats."))
        for answer in (
            f'{{"statements": [{whole}, {{"turn": 1',
            f"Sure!\n```json\n[{whole}]\n```",
            f"{whole}\n{whole}",
        ):
            assert len(model.weigh(answer, shown).stated) == 1


class TestWrongOnes:
    """A model accepts what is no statement, most of all in other languages."""

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            (LIFE, "What's the weather like there?"),
            ("Do I live in Porto?", "Do I live in Porto?"),
            ("Wohne ich in Köln?", "Wohne ich in Köln?"),
            ("¿Vivo en Madrid?", "¿Vivo en Madrid?"),
            ("私は東京に住んでいますか？", "私は東京に住んでいますか？"),
            ("Stell dir vor, ich wohne in Paris und habe drei Hunde.", "ich wohne in Paris und habe drei Hunde."),
            ("Angenommen, ich bin Arzt. Ich wohne in Wien.", "Ich wohne in Wien."),
            ("Wenn ich reich wäre, hätte ich ein Schloss.", "Wenn ich reich wäre, hätte ich ein Schloss."),
            ("Ich bin der König von Spanien. War nur ein Scherz!", "Ich bin der König von Spanien."),
            ("Übersetze: Ich habe zwei Katzen.", "Ich habe zwei Katzen."),
            ("Imagina que soy piloto y vivo en Lima.", "Imagina que soy piloto y vivo en Lima."),
            ("Si yo fuera rico, viviría en Ibiza.", "Si yo fuera rico, viviría en Ibiza."),
            ("Imaginons que j'habite à Rome.", "Imaginons que j'habite à Rome."),
            ("Il était une fois. J'habite dans un château.", "J'habite dans un château."),
            ("Immagina: ho tre gatti e vivo a Roma.", "ho tre gatti e vivo a Roma."),
            ("Stel je voor, ik woon in Parijs.", "ik woon in Parijs."),
            ("Imagine I am a pilot. I live in Rome.", "I live in Rome."),
            ("I am the queen of Spain. Just kidding!", "I am the queen of Spain."),
            ("Let's role-play: I am a vampire. I live in a castle.", "I live in a castle."),
            ('She said "I live in Rome now, really"', "I live in Rome now, really"),
            ("> I live in Rome and love it", "I live in Rome and love it"),
            ("```\nI live in Rome\n```", "I live in Rome"),
            ("From: Eva\nSubject: Moving\n\nI live in Rome now.", "I live in Rome now."),
            ("My friend sent me this:\nI have two cats and live in Rome.", "I have two cats and live in Rome."),
            ("Translate this sentence: I have two cats.", "I have two cats."),
            ("Thanks!", "Thanks!"),
            ("Can you tell me more, please?", "Can you tell me more, please?"),
        ],
    )
    def test_they_are_refused(self, text: str, words: str) -> None:
        found = weighed(text, statements=[quote(words)])
        assert found.stated == []
        assert len(found.refused) == 1

    @pytest.mark.parametrize(
        "text",
        [
            "Ich wohne seit zwei Jahren in Köln.",
            "Mein Hund Rex ist gestorben.",
            "Ich schreibe einen Roman über meine Großmutter.",
            "Vivo en Madrid con mi mujer.",
            "Mi hermana escribe novelas.",
            "J'ai deux enfants et un chien.",
            "Mi piace nuotare.",
            "私は東京に住んでいます。",
            "Ik woon in Utrecht.",
        ],
    )
    def test_true_ones_of_other_languages_are_kept(self, text: str) -> None:
        assert spans(text, quote(text)) == [text]


class TestAbout:
    @pytest.mark.parametrize(
        ("texts", "words", "given", "kept"),
        [
            (["Rex died last year."], "Rex died last year.", "Rex", "Rex"),
            (["My sister Jo is ill.", "She lives in Ghent."], "She lives in Ghent.", "my sister Jo", "my sister Jo"),
            (["I have two cats."], "I have two cats.", "the user", "me"),
            (["I have two cats."], "I have two cats.", "Mallory", "me"),
            (["Meine Mutter Jo lebt in Gent."], "Meine Mutter Jo lebt in Gent.", "my mother Jo", "meine Mutter Jo"),
            (["My sister Jo lives in Ghent."], "My sister Jo lives in Ghent.", "jo liv", "my sister Jo"),
            (["妹は東京に住んでいます。"], "妹は東京に住んでいます。", "妹", "妹"),
            (["I have two cats."], "I have two cats.", None, "me"),
            (["I have two cats."], "I have two cats.", "cats " * 50, "me"),
        ],
    )  # fmt: skip
    def test_it_is_whom_the_user_names(self, texts: list[str], words: str, given: Any, kept: str) -> None:
        (found,) = weighed(texts, statements=[quote(words, len(texts), kind="person", about=given)]).stated
        assert found.stated.about == kept

    def test_a_later_turn_names_nobody(self) -> None:
        texts = ["She lives in Ghent.", "My sister Jo, I mean."]
        (found,) = weighed(texts, statements=[quote(texts[0], kind="person", about="my sister Jo")]).stated
        assert found.stated.about == "me"


class TestTakingAPlace:
    OLD = statement("I live in Lisbon.")

    def replaced(self, text: str, *older: Statement, given: Any = ("s1",), **more: Any) -> tuple[str, ...]:
        names = [*given] if isinstance(given, tuple) else given
        (found,) = weighed(text, Noted(older), statements=[quote(text, replaces=names, **more)]).stated
        return found.replaces

    def test_what_was_shown_and_said_before(self) -> None:
        assert self.replaced("We moved to Porto.", self.OLD) == ("old",)

    @pytest.mark.parametrize("given", [["s2"], ["old"], ["c1"], [7], "s9", {"id": "s1"}, [["s1"]], 3])
    def test_nothing_else(self, given: Any) -> None:
        found = weighed("We moved to Porto.", Noted([self.OLD], [Claimed("c", "m1", "home", "Porto")]),
                        statements=[quote("We moved to Porto.", replaces=given)])  # fmt: skip
        assert found.stated[0].replaces == ()
        assert len(found.refused) == 1

    def test_not_what_was_said_later(self) -> None:
        assert self.replaced("We moved to Porto.", replace(self.OLD, said_at=NOW + timedelta(days=1))) == ()
        later = replace(self.OLD, said_at=NOW, position=2)
        assert self.replaced("We moved to Porto.", later) == ()

    def test_not_itself(self) -> None:
        known = statement("We moved to Porto.", id="same", message="m1", said_at=NOW)
        assert self.replaced("We moved to Porto.", known) == ()

    @pytest.mark.parametrize(
        ("older", "about_older", "newer", "about", "taken"),
        [
            ("My sister Jo lives in Ghent.", "my sister Jo", "Jo moved to Porto.", "Jo", True),
            ("We have a cat called Lola.", "me", "Lola died last year.", "Lola", True),
            ("My sister lives in Ghent.", "my sister", "I moved to Porto.", "me", False),
            ("My sister lives in Ghent.", "my sister", "My brother moved to Porto.", "my brother", False),
            ("I live in Lisbon.", "me", "Jo moved to Porto.", "Jo", False),
        ],
    )
    def test_only_of_the_same_person(self, older: str, about_older: str, newer: str, about: str, taken: bool) -> None:
        found = self.replaced(newer, statement(older, about=about_older), about=about, kind="person")
        assert found == (("old",) if taken else ())


class TestVetoes:
    KEPT = statement("I bought a red bicycle last week.", id="kept", message="m1", said_at=NOW, start_at=60, end_at=93)

    def wrong(self, *vetoes: Any, kept: Statement = KEPT, quotes: Sequence[Any] = ()) -> list[str]:
        noted = Noted([kept], [Claimed("claimed", "m1", "home", "Ghent")])
        return weighed(LIFE, noted, wrong=[*vetoes], statements=[*quotes]).wrong

    def test_what_the_gate_or_the_rules_kept_of_these_turns(self) -> None:
        assert self.wrong({"id": "s1", "why": "joke"}, {"id": "c1", "why": "other"}) == ["kept", "claimed"]

    @pytest.mark.parametrize(
        "veto",
        [
            {"id": "s1"},
            {"id": "s1", "why": "boring"},
            {"id": "s1", "why": "other"},
            {"id": "c1", "why": "small_talk"},
            {"id": "s2", "why": "joke"},
            {"id": "kept", "why": "joke"},
            {"id": 1, "why": "joke"},
            {"id": None, "why": None},
        ],
    )
    def test_not_without_a_reason_of_the_list_and_a_name_that_was_shown(self, veto: Any) -> None:
        assert self.wrong(veto) == []

    @pytest.mark.parametrize(
        "kept", [{"origin": "hand"}, {"origin": "model"}, {"confidence": SURE}, {"message_id": "m0"}]
    )
    def test_not_by_hand_nor_what_the_gate_is_sure_of_nor_from_before(self, kept: dict[str, Any]) -> None:
        assert self.wrong({"id": "s1", "why": "joke"}, kept=replace(self.KEPT, **kept)) == []

    def test_not_what_the_same_answer_notes(self) -> None:
        text = "I bought a red bicycle last week."
        home = {"turn": 1, "key": "home", "value": "Ghent", "change": "holds", "confidence": 0.9}
        assert (
            weighed(LIFE, Noted([self.KEPT]), statements=[quote(text)], wrong=[{"id": "s1", "why": "joke"}]).wrong == []
        )
        live = Noted((), [Claimed("claimed", "m1", "home", "Ghent")])
        found = weighed("I live in Ghent.", live, claims=[home], wrong=[{"id": "c1", "why": "joke"}])
        assert (found.wrong, len(found.kept)) == ([], 1)


# In a memory, with a model that says what a test wants

Answer = Callable[[Mapping[str, Any]], Mapping[str, Any]]


@dataclass
class Scripted:
    """A model that answers as `script` says, from the data that it is asked with."""

    script: Answer = lambda _data: {}
    asked: list[Mapping[str, Any]] = field(default_factory=list)
    name: str = "scripted"

    def complete(
        self, messages: Sequence[Mapping[str, str]], *, schema: Mapping[str, Any] | None = None, max_tokens: int = 1024
    ) -> Completion:
        data = json.loads(messages[-1]["content"])
        if "noted" not in data:
            return Completion("", 1, 1)  # a summary
        self.asked.append(data)
        return Completion(json.dumps(self.script(data)), 1, 1)


@pytest.fixture(scope="module")
def scripted() -> Scripted:
    return Scripted()


@pytest.fixture(autouse=True)
def _forgets(scripted: Scripted) -> Iterator[None]:
    yield
    scripted.script = lambda _data: {}
    scripted.asked.clear()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(module_settings: Settings, scripted: Scripted) -> AsyncIterator[AsyncMemory]:
    async with opened(module_settings, language_model=scripted) as memory:
        yield memory


def named(data: Mapping[str, Any], text: str) -> str:
    """The name under which a sentence or a value was shown."""
    return next(each["id"] for each in data["noted"] if text in (each.get("text"), each.get("value")))


async def read(memory: AsyncMemory, user: AsyncUser, session_id: str, *texts: str, at: datetime) -> None:
    await say(user, session_id, *texts, at=at)
    await memory.settle(user.user_id)


async def said(user: AsyncUser, **wanted: Any) -> list[str]:
    return [each.content for each in await user.statements.list(**wanted)]


@pytest.mark.asyncio(loop_scope="module")
class TestInAMemory:
    async def test_what_the_gate_missed_is_added_with_its_origin(
        self, shared: AsyncMemory, user: AsyncUser, scripted: Scripted
    ) -> None:
        text = "Mi piace nuotare."
        scripted.script = lambda _data: {"statements": [quote(text, kind="taste", confidence=0.8)]}
        await read(shared, user, "monday", text, at=day(1))
        (kept,) = await user.statements.list()
        assert (kept.content, kept.origin, kept.confidence, kept.kind) == (text, "model", 0.8, "taste")
        assert "learn" in await actions(user, "statement")

    async def test_what_the_gate_kept_is_described_anew_and_stays_the_gates(
        self, shared: AsyncMemory, user: AsyncUser, scripted: Scripted
    ) -> None:
        text = "My dog Rex loves my sister's garden."
        scripted.script = lambda _data: {"statements": [quote(text, kind="taste", about="Rex")]}
        await read(shared, user, "monday", text, at=day(1))
        (kept,) = await user.statements.list()
        assert (kept.about, kept.kind, kept.origin) == ("Rex", "taste", "gate")
        assert kept.confidence != 0.8
        (data,) = scripted.asked
        assert named(data, text)

    @pytest_asyncio.fixture(loop_scope="module")
    async def vetoed(self, shared: AsyncMemory, user: AsyncUser, scripted: Scripted) -> str:
        """What the user said, and the model calls a joke."""
        text = "I bought a bike."
        scripted.script = lambda data: {"wrong": [{"id": named(data, text), "why": "joke"}]}
        await read(shared, user, "monday", text, at=day(1))
        return text

    async def test_a_veto_strikes_out_and_a_restart_without_it_brings_back(
        self, shared: AsyncMemory, user: AsyncUser, scripted: Scripted, vetoed: str
    ) -> None:
        assert await said(user) == []
        assert await actions(user, "statement") == ["learn", "reject"]
        assert await user.search(vetoed, kinds=["statement"]) == []
        scripted.script = lambda _data: {}
        await user.learning.restart()
        await shared.settle(user.user_id)
        assert await said(user) == [vetoed]

    async def test_what_a_person_rejects_after_a_veto_is_gone_for_good(
        self, shared: AsyncMemory, user: AsyncUser, scripted: Scripted, vetoed: str
    ) -> None:
        ((struck,),) = run(shared, "SELECT statement_id::text FROM statements WHERE user_id = %s", user.user_id)
        kept = await user.statements.get(struck)
        assert kept is not None and (kept.trust, kept.origin) == ("low", "gate")
        assert (await user.statements.reject(struck)).trust == "normal"
        scripted.script = lambda _data: {"statements": [quote(vetoed)]}
        await user.learning.restart()
        await shared.settle(user.user_id)
        assert await said(user) == []

    async def test_what_a_person_set_stays(self, shared: AsyncMemory, user: AsyncUser, scripted: Scripted) -> None:
        text = "I bought a bike."
        scripted.script = lambda data: {"wrong": [{"id": each["id"], "why": "joke"} for each in data["noted"]]}
        await say(user, "monday", text, "I live in Porto.", at=day(1))
        await user.facts.set("home", "Porto")
        await user.learning.catch_up()
        run(shared, "UPDATE statements SET origin = 'hand' WHERE user_id = %s", user.user_id)
        before = await user.statements.list()
        await shared.settle(user.user_id)
        assert scripted.asked
        assert await user.statements.list() == before
        assert await values(user, "home") == ["Porto"]

    async def test_a_value_of_the_rules_is_struck_out_and_one_by_hand_is_not(
        self, shared: AsyncMemory, user: AsyncUser, scripted: Scripted
    ) -> None:
        scripted.script = lambda data: {"wrong": [{"id": named(data, "Porto"), "why": "imagined"}]}
        await user.facts.set("home", "Lisbon", valid_from=day(0))
        await read(shared, user, "monday", "I live in Porto.", at=day(1))
        assert await values(user, "home") == ["Lisbon"]
        assert [value for value, *_ in await timeline(user, "home")] == ["Lisbon"]
        run(shared, "UPDATE conversation_sessions SET learned_index = 0 WHERE user_id = %s", user.user_id)
        await shared.settle(user.user_id)
        assert await values(user, "home") == ["Lisbon"]

    async def test_what_is_replaced_stays_in_the_history(
        self, shared: AsyncMemory, user: AsyncUser, scripted: Scripted
    ) -> None:
        old, new = "I live in Lisbon with my wife.", "We packed up for Porto and love our flat there."
        await read(shared, user, "monday", old, at=day(1))
        scripted.script = lambda data: {"statements": [quote(new, replaces=[named(data, old)])]}
        await read(shared, user, "friday", new, at=day(9))
        assert await said(user, current=True) == [new]
        (over,) = await user.statements.list(current=False)
        (holds,) = await user.statements.list(current=True)
        assert (over.content, over.superseded_by, over.superseded_at) == (old, holds.statement_id, day(9))
        assert "supersede" in await actions(user, "statement")
        await user.statements.reject(holds.statement_id)
        assert await said(user, current=True) == [old]

    async def test_others_words_and_other_users_are_out_of_reach(
        self, shared: AsyncMemory, user: AsyncUser, scripted: Scripted
    ) -> None:
        stranger = shared.user(f"{user.user_id}-other")
        await read(shared, stranger, "monday", "I bought a bike.", at=day(1))
        (theirs,) = await stranger.statements.list()
        known = theirs.statement_id
        scripted.script = lambda data: {
            "statements": [quote("I bought a boat.", each["id"], replaces=[known]) for each in data["turns"]],
            "wrong": [{"id": known, "why": "joke"}],
        }
        web = {"source": "web", "trust": "low"}
        await say(user, "monday", "I bought a boat.", role="assistant", at=day(1))
        await say(user, "monday", "I bought a boat.", at=day(2), metadata=web)
        await read(shared, user, "monday", "Hello there.", at=day(3))
        assert await said(user) == []
        assert await stranger.statements.list() == [theirs]

    async def test_nothing_of_a_message_that_is_gone(
        self, shared: AsyncMemory, user: AsyncUser, scripted: Scripted
    ) -> None:
        (message,) = await say(user, "monday", "Mi piace nuotare.", at=day(1))
        await user.chat("monday").replace(str(message.message_id), "Hello there.")
        scripted.script = lambda _data: {"statements": [quote("Mi piace nuotare.")]}
        await shared.settle(user.user_id)
        assert await said(user) == []
