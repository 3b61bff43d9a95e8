"""What a database holds after the kill test, by its content: ids and the times of writing are left out."""

from __future__ import annotations

from collections import Counter
from typing import Any

import psycopg

Connection = psycopg.Connection[tuple[Any, ...]]

CONTENTS = {
    "messages": """
        SELECT user_id, session_id, message_index, role, content, timestamp, round(relevance_score::numeric, 6),
               terms::text, embedding::text
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
               superseded_by IS NOT NULL, message.content, fact.terms::text, fact.embedding::text
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
               terms::text, embedding::text
        FROM memory_entries AS entry""",
    "relationships": """
        SELECT user_id, source_session_id, target_session_id, relationship_type,
               round(similarity_score::numeric, 4), round(relationship_strength::numeric, 4),
               (SELECT string_agg(name, ' ' ORDER BY name) FROM jsonb_array_elements_text(metadata -> 'shared') AS name)
        FROM session_relationships""",
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
