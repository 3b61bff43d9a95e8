-- A message may be taken out of its conversation, or say something else from now on. What rested on its old words goes in
-- the same transaction, whoever removes or rewrites it and by whatever path, and is made anew of what is there now.

-- Forgets what was told of a conversation from a message on: episodes, the running summary, and the links that were found
-- by them. All of it is due again. `said` are the messages that are gone or say something else.
CREATE FUNCTION ltst_untell_from(owner TEXT, session TEXT, first INTEGER, said UUID[]) RETURNS VOID
LANGUAGE plpgsql AS $$
DECLARE
    told_from INTEGER;
BEGIN
    WITH untold AS (
        DELETE FROM memory_entries AS entry
        WHERE entry.user_id = owner AND entry.session_id = session AND entry.learned
          AND entry.metadata #> '{messages,1}' >= to_jsonb(first)
        RETURNING entry.entry_id, entry.metadata #> '{messages,0}' AS beginning
    ), noted AS (
        INSERT INTO event_ledger (user_id, actor, action, noun, row_id)
        SELECT owner, 'learning', 'unlearn', 'entry', entry_id::text FROM untold
    )
    SELECT min(CASE jsonb_typeof(beginning) WHEN 'number' THEN beginning::integer ELSE 1 END) INTO told_from FROM untold;
    -- Whoever works with the old words at this moment loses the right to write what came of them.
    DELETE FROM derived_work
    WHERE user_id = owner AND (task IN ('learn', 'refine', 'episode') AND subject = session OR task = 'consolidate'
                               OR task IN ('embed', 'read', 'reread') AND subject = ANY(said::text[]));
    IF told_from IS NOT NULL THEN
        WITH unrelated AS (
            DELETE FROM session_relationships AS link
            WHERE link.user_id = owner AND link.learned AND session IN (link.source_session_id, link.target_session_id)
            RETURNING link.relationship_id
        )
        INSERT INTO event_ledger (user_id, actor, action, noun, row_id)
        SELECT owner, 'learning', 'unlearn', 'relationship', relationship_id::text FROM unrelated;
    END IF;
    UPDATE conversation_sessions
    SET episode_index = greatest(0, least(episode_index, coalesce(told_from, first) - 1)),
        context_summary = CASE WHEN summarised_index < first THEN context_summary END,
        summarised_index = CASE WHEN summarised_index < first THEN summarised_index ELSE 0 END
    WHERE user_id = owner AND session_id = session
      AND (episode_index >= coalesce(told_from, first) OR summarised_index >= first);
END $$;

CREATE OR REPLACE FUNCTION ltst_untell() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
    lost RECORD;
BEGIN
    FOR lost IN
        SELECT user_id, session_id, min(message_index) AS first, array_agg(message_id) AS said
        FROM gone GROUP BY user_id, session_id ORDER BY user_id, session_id
    LOOP
        PERFORM ltst_untell_from(lost.user_id, lost.session_id, lost.first, lost.said);
    END LOOP;
    RETURN NULL;
END $$;

-- A message says something else, or is somebody else's word: what was told and learnt of it goes, and it is read again.
-- It alone: to read the whole conversation again would bring back what was forgotten since.
CREATE FUNCTION ltst_message_rewritten() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    -- First, since it takes the work away from whoever is at the old words: after it, no claim of theirs comes in.
    PERFORM ltst_untell_from(OLD.user_id, OLD.session_id, OLD.message_index, ARRAY[OLD.message_id]);
    DELETE FROM claims WHERE user_id = OLD.user_id AND message_id = OLD.message_id;
    INSERT INTO derived_work (user_id, task, subject, attempts)
    SELECT NEW.user_id, due.task, NEW.message_id::text, 0
    FROM conversation_sessions AS session
    CROSS JOIN LATERAL (VALUES ('read', learned_index), ('reread', refined_index)) AS due (task, reached)
    WHERE session.user_id = NEW.user_id AND session.session_id = NEW.session_id AND NEW.message_index <= due.reached
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER message_rewritten_trigger AFTER UPDATE OF content, role, metadata, timestamp ON conversation_messages
    FOR EACH ROW WHEN ((OLD.content, OLD.role, OLD.metadata, OLD.timestamp)
                       IS DISTINCT FROM (NEW.content, NEW.role, NEW.metadata, NEW.timestamp))
    EXECUTE FUNCTION ltst_message_rewritten();

-- Of an adopted table, what is kept and what is shown as the program wrote it are the old words. What is kept lacks the
-- row from now on, and gets it as it is now when the table is given back.
CREATE FUNCTION ltst_forget_kept_words() RETURNS TRIGGER LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    known adopted_messages;
    adoption adopted_tables;
BEGIN
    UPDATE adopted_messages SET shown = shown - 'message'
    WHERE user_id = NEW.user_id AND message_id = NEW.message_id RETURNING * INTO known;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    SELECT * INTO adoption FROM adopted_tables WHERE adoption_id = known.adoption_id;
    IF to_regclass(format('%I.%I', adoption.schema_name, adoption.kept_name)) IS NOT NULL THEN
        EXECUTE format('DELETE FROM %I.%I AS kept WHERE kept.%I = ($1).row_%s', adoption.schema_name, adoption.kept_name,
                       adoption.columns ->> 'id', adoption.row_kind) USING known;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER forget_kept_words_trigger AFTER UPDATE OF content, role, timestamp ON conversation_messages
    FOR EACH ROW WHEN ((OLD.content, OLD.role, OLD.timestamp) IS DISTINCT FROM (NEW.content, NEW.role, NEW.timestamp))
    EXECUTE FUNCTION ltst_forget_kept_words();

-- It runs with more rights than its callers have, as the others of adoption do.
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION ltst_forget_kept_words() SET search_path TO %I, pg_temp', current_schema());
END $$;
REVOKE EXECUTE ON FUNCTION ltst_forget_kept_words() FROM PUBLIC;
