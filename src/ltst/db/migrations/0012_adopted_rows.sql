-- Adopted rows: an id is given out once, a change takes nothing back that others changed, and users may be numbers.

-- Two rows of one id, which two programs could write at once before, are not ltst's to choose between.
DO $$
DECLARE
    twice RECORD;
BEGIN
    SELECT adopted.schema_name, adopted.table_name, adopted.row_kind, row.number, row.message_id,
           CASE WHEN adopted.row_kind IN ('uuid', 'text') THEN quote_literal(row.message_id)
                ELSE (row.highest + 1)::text END AS free
    INTO twice
    FROM (SELECT known.adoption_id, known.message_id, named.number,
                 row_number() OVER (PARTITION BY known.adoption_id, named.number ORDER BY message.created_at) AS nth,
                 max(coalesce(known.row_integer, known.row_bigint)) OVER (PARTITION BY known.adoption_id) AS highest
          FROM adopted_messages AS known JOIN conversation_messages AS message USING (user_id, message_id)
          CROSS JOIN LATERAL (SELECT coalesce(row_text, row_uuid::text, row_integer::text, row_bigint::text) AS number)
              AS named) AS row
    JOIN adopted_tables AS adopted USING (adoption_id)
    WHERE row.nth > 1 ORDER BY adopted.schema_name, adopted.table_name, row.number LIMIT 1;
    IF FOUND THEN
        RAISE unique_violation USING MESSAGE = format(
            'two rows of the adopted table %I.%I have the id %s. Give the younger one another, such as: '
            'UPDATE adopted_messages SET row_%s = %s WHERE message_id = %L',
            twice.schema_name, twice.table_name, twice.number, twice.row_kind, twice.free, twice.message_id);
    END IF;
END $$;
DROP INDEX idx_adopted_messages_row_uuid, idx_adopted_messages_row_integer, idx_adopted_messages_row_bigint;
CREATE UNIQUE INDEX idx_adopted_messages_row_uuid ON adopted_messages (row_uuid, adoption_id)
    WHERE row_uuid IS NOT NULL;
CREATE UNIQUE INDEX idx_adopted_messages_row_integer ON adopted_messages (row_integer, adoption_id)
    WHERE row_integer IS NOT NULL;
CREATE UNIQUE INDEX idx_adopted_messages_row_bigint ON adopted_messages (row_bigint, adoption_id)
    WHERE row_bigint IS NOT NULL;
-- Beside the one by which they are looked up, which cannot be unique.
CREATE UNIQUE INDEX idx_adopted_messages_row_text_once ON adopted_messages (ltst_sha256(row_text), adoption_id)
    WHERE row_text IS NOT NULL;

-- Whether a type, as Postgres names it, has a value that is written just so.
CREATE FUNCTION ltst_fits(written TEXT, type TEXT) RETURNS BOOLEAN LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    again TEXT;
BEGIN
    EXECUTE format('SELECT $1::%s::text', type) INTO again USING written;
    RETURN again = written;
EXCEPTION WHEN data_exception OR integrity_constraint_violation THEN
    RETURN false;
END $$;

-- What of a row differs from what it was before.
CREATE FUNCTION ltst_changes(before JSONB, after JSONB) RETURNS JSONB LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT coalesce(jsonb_object_agg(key, value), '{}') FROM jsonb_each(after) WHERE value <> before -> key);

-- A row `told` of the program's as JSON, in SQL. Ids are told by their text, as they were when the table was adopted; and
-- so is what JSON cannot say so that it can be read again, such as arrays.
CREATE FUNCTION ltst_told_adopted(adoption adopted_tables) RETURNS TEXT LANGUAGE sql STABLE
RETURN (
    SELECT 'to_jsonb(told.*)' || coalesce(string_agg(format(' || jsonb_build_object(%1$L, told.%1$I::text)', name), ''), '')
    FROM (SELECT value AS name FROM jsonb_each_text(adoption.columns)
          WHERE key IN ('session', 'user') OR key = 'id' AND adoption.numbered
          UNION ALL
          SELECT each ->> 'name' FROM jsonb_array_elements(adoption.extras) AS each WHERE each -> 'text' = 'true') AS named);

-- The message behind a row that is shown, with its session locked: nobody changes or moves it until this transaction
-- ends. Nothing if it is gone; where rows have no number, one that was changed is gone too.
CREATE FUNCTION ltst_hold_adopted(adoption adopted_tables, seen JSONB) RETURNS adopted_messages LANGUAGE plpgsql AS $$
DECLARE
    wanted adopted_messages;
    held adopted_messages;
BEGIN
    LOOP
        wanted := ltst_find_adopted(adoption, seen);
        EXIT WHEN wanted.message_id IS NULL OR wanted IS NOT DISTINCT FROM held;
        PERFORM pg_advisory_xact_lock_shared(hashtextextended(wanted.user_id, 2));
        PERFORM FROM conversation_sessions AS session JOIN conversation_messages AS message USING (user_id, session_id)
        WHERE message.user_id = wanted.user_id AND message.message_id = wanted.message_id FOR NO KEY UPDATE OF session;
        -- Once more: it may have changed, or moved to another session, while this one waited.
        held := wanted;
    END LOOP;
    RETURN wanted;
END $$;
DROP FUNCTION ltst_remove_adopted(adopted_messages);

-- A statement reads its rows as they were when it began, and others may have changed them until it held them. What it
-- changes is changed in the row as it is now; what others changed stays. What both changed may have been made from what
-- is no longer so, and a row that is to be deleted may no longer be the one that was meant: Postgres would read it
-- anew, which a trigger cannot.
CREATE FUNCTION ltst_merge_adopted(number TEXT, seen JSONB, present JSONB, given JSONB) RETURNS JSONB
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    theirs JSONB := ltst_changes(seen, present);
    ours JSONB := ltst_changes(seen, given);
    clash TEXT;
BEGIN
    SELECT string_agg(key, ', ' ORDER BY key) INTO clash FROM jsonb_each(theirs)
    WHERE given IS NULL OR ours -> key <> value;
    IF clash IS NOT NULL THEN
        RAISE serialization_failure USING
            MESSAGE = format('row %s was changed by another since this statement began (%s)', number, clash),
            HINT = 'run the transaction again';
    END IF;
    RETURN present || ours;
END $$;

-- What the program is told of a row that it wrote, where it did not say that itself.
CREATE FUNCTION ltst_returned_adopted(adoption adopted_tables, place REGCLASS, stored adopted_messages)
RETURNS JSONB LANGUAGE plpgsql STABLE AS $$
DECLARE
    naming JSONB := adoption.columns;
    returned JSONB := '{}';
BEGIN
    IF adoption.numbered THEN
        returned := jsonb_build_object(naming ->> 'id', to_jsonb(stored) -> ('row_' || adoption.row_kind));
    END IF;
    IF naming ? 'user' THEN
        SELECT returned || jsonb_build_object(naming ->> 'user', CASE
            WHEN stored.user_id <> adoption.owner_id OR ltst_fits(adoption.owner_id, format_type(atttypid, atttypmod))
            THEN stored.user_id END)
        INTO returned FROM pg_attribute WHERE attrelid = place AND attname = naming ->> 'user';
    END IF;
    IF naming ? 'time' THEN
        SELECT returned || jsonb_build_object(naming ->> 'time', CASE
            WHEN adoption.zone IS NULL THEN to_jsonb(timestamp) ELSE to_jsonb(timestamp AT TIME ZONE adoption.zone) END)
        INTO returned FROM conversation_messages WHERE user_id = stored.user_id AND message_id = stored.message_id;
    END IF;
    RETURN returned;
END $$;

-- What the program writes into the view; the first argument is the adoption.
CREATE OR REPLACE FUNCTION ltst_write_adopted() RETURNS TRIGGER LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    adoption adopted_tables;
    told TEXT;
    seen JSONB;
    present JSONB;
    given JSONB;
    merged JSONB;
    wanted adopted_messages;
    former conversation_messages;
    children UUID[];
    stored adopted_messages;
BEGIN
    SELECT * INTO STRICT adoption FROM adopted_tables WHERE adoption_id = TG_ARGV[0]::uuid;
    told := ltst_told_adopted(adoption);
    IF TG_OP <> 'DELETE' THEN
        EXECUTE format('SELECT %s FROM (SELECT ($1).*) AS told', told) INTO given USING NEW;
    END IF;
    merged := given;
    IF TG_OP <> 'INSERT' THEN
        EXECUTE format('SELECT %s FROM (SELECT ($1).*) AS told', told) INTO seen USING OLD;
        IF seen = given THEN
            RETURN NEW;
        END IF;
        wanted := ltst_hold_adopted(adoption, seen);
        IF wanted.message_id IS NOT NULL AND adoption.numbered THEN
            EXECUTE format('SELECT %1$s FROM %2$s AS told WHERE told.%3$I = ($1).%3$I', told, TG_RELID::regclass,
                           adoption.columns ->> 'id') INTO present USING OLD;
            merged := ltst_merge_adopted(seen ->> (adoption.columns ->> 'id'), seen, present, given);
        END IF;
        IF TG_OP = 'UPDATE' AND merged IS NOT NULL THEN
            PERFORM ltst_read_adopted(adoption, merged);  -- before anything is taken away
            children := ARRAY(SELECT message_id FROM conversation_messages
                              WHERE user_id = wanted.user_id AND parent_message_id = wanted.message_id);
        END IF;
        DELETE FROM conversation_messages WHERE user_id = wanted.user_id AND message_id = wanted.message_id
        RETURNING * INTO former;
        IF former.message_id IS NULL THEN
            RETURN NULL;
        ELSIF TG_OP = 'DELETE' THEN
            INSERT INTO event_ledger (user_id, actor, action, noun, row_id, details)
            VALUES (former.user_id, left(adoption.table_name, 255), 'delete', 'message', former.message_id::text,
                    jsonb_build_object('session_id', former.session_id));
            RETURN OLD;
        END IF;
    END IF;
    stored := ltst_store_adopted(adoption, merged, former);
    IF stored.user_id = former.user_id THEN
        UPDATE conversation_messages SET parent_message_id = stored.message_id
        WHERE user_id = stored.user_id AND message_id = ANY(children);
    END IF;
    NEW := jsonb_populate_record(
        NEW, ltst_changes(given, merged) || ltst_returned_adopted(adoption, TG_RELID, stored));
    RETURN NEW;
END $$;
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION ltst_write_adopted() SET search_path TO %I, pg_temp', current_schema());
END $$;
