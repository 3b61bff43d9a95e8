"""What a database holds after the kill test, by its content: ids and the times of writing are left out."""

from __future__ import annotations

from collections import Counter
from typing import Any

import psycopg

Connection = psycopg.Connection[tuple[Any, ...]]

CONTENTS = {
    "messages": """
        SELECT user_id, session_id, message_index, role, content, timestamp
        FROM conversation_messages""",
    "sessions": """
        SELECT user_id, session_id, last_index, learned_index, episode_index, summarised_index, context_summary,
               round(relevance_score::numeric, 6)
        FROM conversation_sessions""",
    "claims": """
        SELECT claim.user_id, message.session_id, message.message_index, noun, claim_key, claim_value, change,
               single_valued, confidence, said_at, valid_from, valid_to, reader, details::text, row_id IS NOT NULL
        FROM claims AS claim JOIN conversation_messages AS message USING (user_id, message_id)""",
    "facts": """
        SELECT fact.user_id, fact_key, fact_value, confidence, valid_from, valid_to, ended_at, rejected_at, learned,
               superseded_by IS NOT NULL, message.content
        FROM user_facts AS fact LEFT JOIN conversation_messages AS message
          ON message.user_id = fact.user_id AND message_id = source_message_id""",
    "preferences": """
        SELECT user_id, preference_key, preference_value, preference_type, source, confidence_score, learned
        FROM user_preferences""",
    "instructions": """
        SELECT user_id, agent_name, content, version, active, learned FROM user_agent_prompt_customizations""",
    "episodes": """
        SELECT entry.user_id, session_id, memory_type, content, occurred_at, importance_score, learned, consolidated,
               metadata ->> 'messages', metadata ->> 'topics',
               (SELECT string_agg(message.message_index::text, ' ' ORDER BY message_index)
                FROM conversation_messages AS message
                WHERE message.user_id = entry.user_id AND entry.metadata -> 'sources' ? message_id::text),
               embedding::text
        FROM memory_entries AS entry""",
    "relationships": """
        SELECT user_id, source_session_id, target_session_id, relationship_type,
               round(similarity_score::numeric, 4), round(relationship_strength::numeric, 4),
               (SELECT string_agg(name, ' ' ORDER BY name) FROM jsonb_array_elements_text(metadata -> 'shared') AS name)
        FROM session_relationships""",
    # How much doubt is cast on one tells by how rare its words were when it was compared, which depends on the order.
    "statements": """
        SELECT stated.user_id, session_id, message_index, start_at, end_at, stated.kind, about, said_at, superseded_at,
               rejected_at, compared
        FROM statements AS stated JOIN conversation_messages AS message USING (user_id, message_id)""",
    # The index, by what its units stand for: their numbers are those of the order in which they were indexed.
    "units": """
        SELECT unit.user_id, unit.kind, source.content, unit.place = hashtextextended(source.place, 0), unit.position,
               unit.session, unit.occurred_at, unit.valid_from, unit.valid_until, unit.expires_at, unit.words,
               unit.speaker, unit.by_machine, unit.retold, round(unit.importance::numeric, 4), unit.said, unit.vectored,
               round(unit.tells::numeric, 4), round(unit.relevance::numeric, 4),
               unit.kind <> 'message' OR abs(unit.outdated - ltst_outdated(unit.user_id, unit.row_id)) < 1e-6,
               (SELECT string_agg(term || ' ' || (posting >> 10), ',' ORDER BY term)
                FROM search_terms AS held, unnest(postings) AS posting
                WHERE held.user_id = unit.user_id AND block = unit_no / 1024 AND (posting & 1023) = unit_no % 1024),
               (SELECT string_agg(part || ' ' || embedding::text, ',' ORDER BY part) FROM search_vectors AS vector
                WHERE vector.user_id = unit.user_id AND vector.unit_no = unit.unit_no)
        FROM search_units AS unit LEFT JOIN search_sources AS source USING (user_id, kind, row_id)""",
    "counts of the index": """
        SELECT user_id, units, words, large, ready,
               (SELECT count(*) FROM search_due AS due WHERE due.user_id = counted.user_id),
               (SELECT string_agg(name || ' ' || spoken.units, ',' ORDER BY name) FROM search_speakers AS spoken
                WHERE spoken.user_id = counted.user_id)
        FROM search_users AS counted""",
    "ledger": """
        SELECT user_id, actor, action, noun, count(*) FROM event_ledger WHERE actor = 'learning'
        GROUP BY user_id, actor, action, noun""",
}
# What was learnt has one event, and every event is of something that was learnt.
UNEVEN = """
SELECT noun, row_id, count(*) FROM event_ledger WHERE actor = 'learning' AND action = 'learn'
GROUP BY noun, row_id HAVING count(*) <> 1
UNION ALL
SELECT noun, learnt.row_id, 0 FROM (
    SELECT 'fact' AS noun, fact_id::text AS row_id FROM user_facts WHERE learned
    UNION ALL SELECT 'preference', preference_id::text FROM user_preferences WHERE learned
    UNION ALL SELECT 'instruction', id::text FROM user_agent_prompt_customizations WHERE learned
    UNION ALL SELECT 'entry', entry_id::text FROM memory_entries WHERE learned
    UNION ALL SELECT 'relationship', relationship_id::text FROM session_relationships WHERE learned
    UNION ALL SELECT 'statement', statement_id::text FROM statements
) AS learnt
FULL JOIN (SELECT noun, row_id FROM event_ledger WHERE actor = 'learning' AND action = 'learn') AS told
    USING (noun, row_id)
WHERE learnt.row_id IS NULL OR told.row_id IS NULL
"""
# A worker that is killed when the last row was indexed, and before it says so, leaves a lease that nobody needs.
LEFT = """
SELECT task, subject, attempts, set_aside_at IS NOT NULL, reason FROM derived_work
WHERE set_aside_at IS NOT NULL OR leased_until > now() OR task <> 'index'
"""


def contents(connection: Connection, noun: str) -> Counter[tuple[Any, ...]]:
    """What there is of a noun, each as often as it is there."""
    return Counter(connection.execute(CONTENTS[noun].encode()).fetchall())


def check(killed: Connection, undisturbed: Connection) -> tuple[dict[str, int], list[str]]:
    """How much there is of each noun, and what is not as it would be had nobody been killed."""
    counts: dict[str, int] = {}
    problems: list[str] = []
    for noun in CONTENTS:
        found, expected = contents(killed, noun), contents(undisturbed, noun)
        counts[noun] = found.total()
        for what, rows in (("missing", expected - found), ("too much", found - expected)):
            problems += [f"{noun} {what}, {times} times: {str(row)[:300]}" for row, times in rows.items()]
    problems += [f"{times} events for the {noun} {row}" for noun, row, times in killed.execute(UNEVEN.encode())]
    problems += [f"work left over: {row}" for row in killed.execute(LEFT.encode())]
    return counts, problems
