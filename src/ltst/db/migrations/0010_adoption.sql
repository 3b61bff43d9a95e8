-- Adoption: the chat table of another program becomes sessions and messages, and a view under its old name lets that
-- program go on. It knows no users and connects as a role of its own, so what it does runs with the rights of ltst's
-- owner: the view is a security barrier, and the functions below find every name in ltst's own schema.

-- One row a table. `columns` says which column is what, `extras` what else it has, `words` what the program calls the roles.
CREATE TABLE adopted_tables (
    adoption_id   UUID PRIMARY KEY,
    schema_name   TEXT NOT NULL,
    table_name    TEXT NOT NULL,
    -- Where the table itself is now. It holds the rows that nobody changed since.
    kept_name     TEXT NOT NULL,
    shape         TEXT NOT NULL CHECK (shape IN ('conversation', 'langchain')),
    -- Whose the rows are that name no user.
    owner_id      VARCHAR(255) NOT NULL CHECK (owner_id <> ''),
    columns       JSONB NOT NULL,
    extras        JSONB NOT NULL DEFAULT '[]',
    words         JSONB NOT NULL DEFAULT '{}',
    row_kind      TEXT NOT NULL CHECK (row_kind IN ('integer', 'bigint', 'uuid', 'text')),
    session_kind  TEXT NOT NULL CHECK (session_kind IN ('integer', 'bigint', 'uuid', 'text')),
    -- Whether the program sees the number of a row; where its table has none, one was added to what is kept.
    numbered      BOOLEAN NOT NULL,
    sequence_name TEXT,
    -- The zone of times without one; NULL where they have theirs.
    zone          TEXT,
    largest       INTEGER NOT NULL,
    digest        TEXT NOT NULL DEFAULT '',
    adopted_at    TIMESTAMPTZ NOT NULL DEFAULT now()
);

-- A session that another program shares.
ALTER TABLE conversation_sessions ADD COLUMN adoption_id UUID;
CREATE INDEX idx_conversation_sessions_adoption ON conversation_sessions (adoption_id) WHERE adoption_id IS NOT NULL;

-- What the program knows a message by. One column of each kind has a value: compared as they are, without a cast, they
-- can be looked up through a security barrier.
CREATE TABLE adopted_messages (
    user_id         VARCHAR(255) NOT NULL,
    message_id      UUID NOT NULL,
    adoption_id     UUID NOT NULL,
    session_text    TEXT,
    session_uuid    UUID,
    session_integer INTEGER,
    session_bigint  BIGINT,
    row_text        TEXT,
    row_uuid        UUID,
    row_integer     INTEGER,
    row_bigint      BIGINT,
    -- What is shown to the program as it wrote it, where a message has no place for it.
    shown           JSONB NOT NULL DEFAULT '{}',
    PRIMARY KEY (user_id, message_id),
    FOREIGN KEY (user_id, message_id) REFERENCES conversation_messages ON DELETE CASCADE
);
CREATE INDEX idx_adopted_messages_session_text ON adopted_messages (session_text, adoption_id)
    WHERE session_text IS NOT NULL;
CREATE INDEX idx_adopted_messages_session_uuid ON adopted_messages (session_uuid, adoption_id)
    WHERE session_uuid IS NOT NULL;
CREATE INDEX idx_adopted_messages_session_integer ON adopted_messages (session_integer, adoption_id)
    WHERE session_integer IS NOT NULL;
CREATE INDEX idx_adopted_messages_session_bigint ON adopted_messages (session_bigint, adoption_id)
    WHERE session_bigint IS NOT NULL;
-- By its hash: unlike the id of a session, this can be longer than an index entry.
CREATE INDEX idx_adopted_messages_row_text ON adopted_messages USING hash (row_text) WHERE row_text IS NOT NULL;
CREATE INDEX idx_adopted_messages_row_uuid ON adopted_messages (row_uuid, adoption_id) WHERE row_uuid IS NOT NULL;
CREATE INDEX idx_adopted_messages_row_integer ON adopted_messages (row_integer, adoption_id)
    WHERE row_integer IS NOT NULL;
CREATE INDEX idx_adopted_messages_row_bigint ON adopted_messages (row_bigint, adoption_id)
    WHERE row_bigint IS NOT NULL;

ALTER TABLE adopted_messages ENABLE ROW LEVEL SECURITY;
ALTER TABLE adopted_messages FORCE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON adopted_messages TO ltst_user
    USING (user_id = current_setting('ltst.user_id', true)) WITH CHECK (user_id = current_setting('ltst.user_id', true));
CREATE POLICY all_rows ON adopted_messages TO ltst_keeper USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON adopted_messages TO ltst_user, ltst_keeper;
ALTER TABLE adopted_tables ENABLE ROW LEVEL SECURITY;
ALTER TABLE adopted_tables FORCE ROW LEVEL SECURITY;
CREATE POLICY all_rows ON adopted_tables TO ltst_keeper USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON adopted_tables TO ltst_keeper;

-- The stored name of a role for the words that programs use; NULL for a word that is none.
CREATE FUNCTION ltst_role(word TEXT) RETURNS TEXT LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN lower(btrim(word)) IN ('human', 'user', 'humanmessagechunk') THEN 'human'
    WHEN lower(btrim(word)) IN ('ai', 'assistant', 'bot', 'model', 'aimessagechunk') THEN 'ai'
    WHEN lower(btrim(word)) IN ('system', 'developer', 'systemmessagechunk') THEN 'system'
    WHEN lower(btrim(word)) IN ('tool', 'function', 'toolmessagechunk', 'functionmessagechunk') THEN 'tool' END;

-- JSON that is text, or NULL if it is none.
CREATE FUNCTION ltst_json(written TEXT) RETURNS JSONB LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN written::jsonb;
EXCEPTION WHEN data_exception OR program_limit_exceeded OR statement_too_complex THEN
    RETURN NULL;
END $$;

-- A message as LangChain keeps it, and the parts that ltst keeps of one: what is not text stays whole in the metadata.
CREATE FUNCTION ltst_langchain_message(role TEXT, content TEXT, metadata JSONB)
RETURNS JSONB LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
    'type', CASE metadata #>> '{chat_message_history,type}' WHEN 'function' THEN 'function' ELSE role END,
    'data', jsonb_build_object('content', content)
            || CASE
                WHEN jsonb_typeof(metadata -> 'chat_message_history') = 'object' THEN metadata -> 'chat_message_history'
                -- LangChain cannot read a tool's answer that does not say what it answers.
                WHEN role = 'tool' THEN '{"tool_call_id": ""}'::jsonb
                ELSE '{}'::jsonb END
            || jsonb_build_object('type',
                CASE metadata #>> '{chat_message_history,type}' WHEN 'function' THEN 'function' ELSE role END));

CREATE FUNCTION ltst_read_langchain(message JSONB, OUT role TEXT, OUT content TEXT, OUT metadata JSONB)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    body JSONB := jsonb_build_object('type', message -> 'type')
                  || CASE jsonb_typeof(message -> 'data') WHEN 'object' THEN message -> 'data' END;
BEGIN
    role := ltst_role(CASE message ->> 'type' WHEN 'chat' THEN body ->> 'role' ELSE message ->> 'type' END);
    IF jsonb_typeof(body -> 'content') = 'string' THEN
        content := body ->> 'content';
        body := body - 'content';
    ELSE
        content := nullif(body -> 'content', 'null')::text;
    END IF;
    metadata := jsonb_build_object('chat_message_history', body);
EXCEPTION WHEN untranslatable_character THEN  -- a NUL, which JSON may hold and text may not
    content := NULL;
END $$;

CREATE OR REPLACE VIEW chat_message_history WITH (security_invoker = true) AS
SELECT message_index AS id,
       session_id,
       ltst_langchain_message(role, content, metadata) AS message,
       timestamp AS created_at
FROM conversation_messages
WHERE user_id = current_setting('ltst.user_id', true);

CREATE OR REPLACE FUNCTION ltst_write_chat_message_history() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
    owner TEXT := nullif(current_setting('ltst.user_id', true), '');
    part RECORD;
    stored UUID;
BEGIN
    IF owner IS NULL THEN
        RAISE insufficient_privilege USING
            MESSAGE = 'no user is set on this connection',
            HINT = 'run: SELECT set_config(''ltst.user_id'', ''<the user>'', false)';
    END IF;
    SELECT * INTO part FROM ltst_read_langchain(NEW.message);
    PERFORM pg_advisory_xact_lock_shared(hashtextextended(owner, 2));
    PERFORM ltst_open_session(owner, NEW.session_id::text, NULL, NULL, 'chat_message_history', now());
    INSERT INTO conversation_messages (user_id, session_id, role, content, token_count, metadata, timestamp)
    VALUES (owner, NEW.session_id, part.role, part.content, (octet_length(part.content) + 3) / 4, part.metadata,
            coalesce(NEW.created_at, clock_timestamp()))
    RETURNING message_id INTO stored;
    INSERT INTO event_ledger (user_id, actor, action, noun, row_id, details)
    VALUES (owner, 'chat_message_history', 'add', 'message', stored::text,
            jsonb_build_object('session_id', NEW.session_id));
    RETURN NEW;
END $$;

-- The columns that ltst has no place for, as metadata; a column `metadata` is that already.
CREATE FUNCTION ltst_adopted_metadata(columns JSONB) RETURNS JSONB LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE jsonb_typeof(columns -> 'metadata')
    WHEN 'object' THEN (columns -> 'metadata') || (columns - 'metadata') ELSE columns END;

-- The number of a new row of the program's, as its table would have given it.
CREATE FUNCTION ltst_next_adopted(adoption adopted_tables, message UUID) RETURNS TEXT LANGUAGE plpgsql AS $$
DECLARE
    number BIGINT;
    taken BOOLEAN;
BEGIN
    IF adoption.row_kind IN ('uuid', 'text') THEN
        RETURN message;
    ELSIF to_regclass(adoption.sequence_name) IS NULL THEN
        -- A program that counts by itself; so that two do not take the same number, one after the other.
        PERFORM pg_advisory_xact_lock(hashtextextended(adoption.adoption_id::text, 3));
        EXECUTE format('SELECT coalesce(max(row_%s), 0) + 1 FROM adopted_messages WHERE adoption_id = $1',
                       adoption.row_kind) INTO number USING adoption.adoption_id;
        RETURN number;
    END IF;
    LOOP
        number := nextval(adoption.sequence_name::regclass);
        EXECUTE format('SELECT EXISTS (SELECT FROM adopted_messages WHERE adoption_id = $1 AND row_%s = $2)',
                       adoption.row_kind) INTO taken USING adoption.adoption_id, number;
        EXIT WHEN NOT taken;
    END LOOP;
    RETURN number;
END $$;

-- Gives new messages of a shared session what the program will know them by, in their order. It may be called for any
-- messages: those that have it keep it, and those of other sessions get none.
CREATE FUNCTION ltst_number_adopted(owner TEXT, session TEXT, added UUID[]) RETURNS VOID
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    adoption adopted_tables;
    message UUID;
BEGIN
    SELECT adopted.* INTO adoption FROM conversation_sessions AS shared JOIN adopted_tables AS adopted USING (adoption_id)
    WHERE shared.user_id = owner AND shared.session_id = session;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    FOR message IN
        SELECT fresh.message_id FROM conversation_messages AS fresh
        WHERE fresh.user_id = owner AND fresh.session_id = session AND fresh.message_id = ANY(added)
          AND NOT EXISTS (SELECT FROM adopted_messages AS known
                          WHERE known.user_id = owner AND known.message_id = fresh.message_id)
        ORDER BY fresh.message_index
    LOOP
        EXECUTE format('INSERT INTO adopted_messages (user_id, message_id, adoption_id, session_%1$s, row_%2$s) '
                       'VALUES ($1, $2, $3, $4::%1$s, $5::%2$s)', adoption.session_kind, adoption.row_kind)
        USING owner, message, adoption.adoption_id, session, ltst_next_adopted(adoption, message);
    END LOOP;
END $$;

-- As before, and what was added to a shared session is numbered.
CREATE OR REPLACE FUNCTION update_session_length() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
    counted RECORD;
    shared UUID;
BEGIN
    FOR counted IN
        SELECT user_id, session_id, count(*) AS added, max(message_index) AS newest_index, max(timestamp) AS newest
        FROM added_messages GROUP BY user_id, session_id ORDER BY user_id, session_id
    LOOP
        UPDATE conversation_sessions
        SET session_length = session_length + counted.added,
            last_index = greatest(last_index, counted.newest_index),
            last_activity = greatest(last_activity, counted.newest),
            status = CASE status WHEN 'archived' THEN 'active' ELSE status END
        WHERE user_id = counted.user_id AND session_id = counted.session_id
        RETURNING adoption_id INTO shared;
        IF shared IS NOT NULL THEN
            PERFORM ltst_number_adopted(counted.user_id, counted.session_id, ARRAY(
                SELECT message_id FROM added_messages
                WHERE user_id = counted.user_id AND session_id = counted.session_id));
        END IF;
    END LOOP;
    RETURN NULL;
END $$;

-- A message that goes, by whatever path, goes from what is kept of the table too: it must not tell what was forgotten.
CREATE FUNCTION ltst_forget_kept() RETURNS TRIGGER LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    adoption adopted_tables;
BEGIN
    IF NOT EXISTS (SELECT FROM gone) THEN
        RETURN NULL;
    END IF;
    FOR adoption IN SELECT * FROM adopted_tables WHERE adoption_id IN (SELECT adoption_id FROM gone) LOOP
        IF to_regclass(format('%I.%I', adoption.schema_name, adoption.kept_name)) IS NOT NULL THEN
            EXECUTE format(
                'DELETE FROM %I.%I AS kept USING gone WHERE gone.adoption_id = $1 AND kept.%I = gone.row_%s',
                adoption.schema_name, adoption.kept_name, adoption.columns ->> 'id', adoption.row_kind)
            USING adoption.adoption_id;
        END IF;
    END LOOP;
    RETURN NULL;
END $$;
CREATE TRIGGER forget_kept_trigger AFTER DELETE ON adopted_messages
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION ltst_forget_kept();

-- What is left of a user in the tables that are kept, such as rows that could not be taken over.
CREATE FUNCTION ltst_erase_kept(erased TEXT)
RETURNS TABLE (table_name TEXT, removed BIGINT, remaining BIGINT) LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    adoption adopted_tables;
    theirs TEXT;
BEGIN
    FOR adoption IN SELECT * FROM adopted_tables AS adopted ORDER BY adopted.schema_name, adopted.kept_name LOOP
        table_name := format('%I.%I', adoption.schema_name, adoption.kept_name);
        IF adoption.columns ? 'user' THEN
            theirs := format('coalesce(%I::text, %L) = $1', adoption.columns ->> 'user', adoption.owner_id);
        ELSE
            theirs := format('%L = $1', adoption.owner_id);
        END IF;
        IF to_regclass(table_name) IS NOT NULL THEN
            EXECUTE format('DELETE FROM %s WHERE %s', table_name, theirs) USING erased;
            GET DIAGNOSTICS removed = ROW_COUNT;
            EXECUTE format('SELECT count(*) FROM %s WHERE %s', table_name, theirs) INTO remaining USING erased;
            RETURN NEXT;
        END IF;
    END LOOP;
END $$;

-- A row of the program's, read as a message, or a sentence about what is wrong with it.
CREATE FUNCTION ltst_read_adopted(
    adoption adopted_tables, given JSONB,
    OUT owner TEXT, OUT session TEXT, OUT role TEXT, OUT content TEXT, OUT happened TIMESTAMPTZ, OUT metadata JSONB,
    OUT shown JSONB
) LANGUAGE plpgsql STABLE AS $$
DECLARE
    naming JSONB := adoption.columns;
    extras JSONB := '{}';
    name TEXT;
    word TEXT;
    message JSONB;
BEGIN
    owner := coalesce(given ->> (naming ->> 'user'), adoption.owner_id);
    session := given ->> (naming ->> 'session');
    IF session IS NULL OR session !~ '\S' OR length(session) > 255 THEN
        RAISE check_violation USING MESSAGE = format(
            '%s must be 1 to 255 characters and not blank', naming ->> 'session');
    ELSIF owner !~ '\S' OR length(owner) > 255 OR owner = 'system' THEN
        RAISE check_violation USING MESSAGE = format(
            '%s must be 1 to 255 characters, not blank, and not "system"', naming ->> 'user');
    END IF;
    FOR name IN SELECT each ->> 'name' FROM jsonb_array_elements(adoption.extras) AS each LOOP
        IF given -> name <> 'null' THEN
            extras := extras || jsonb_build_object(name, given -> name);
        END IF;
    END LOOP;
    shown := CASE extras WHEN '{}' THEN '{}'::jsonb ELSE jsonb_build_object('columns', extras) END;
    metadata := ltst_adopted_metadata(extras);
    IF adoption.shape = 'langchain' THEN
        message := given -> (naming ->> 'message');
        message := CASE jsonb_typeof(message) WHEN 'string' THEN ltst_json(message #>> '{}') ELSE message END;
        SELECT part.role, part.content, ltst_read_adopted.metadata || part.metadata INTO role, content, metadata
        FROM ltst_read_langchain(message) AS part;
        IF role IS NULL OR content IS NULL THEN
            RAISE check_violation USING MESSAGE = format(
                '%s must be a message of LangChain: {"type": "human", "data": {"content": …}}', naming ->> 'message');
        ELSIF ltst_langchain_message(role, content, metadata) <> message THEN
            shown := shown || jsonb_build_object('message', message);
        END IF;
    ELSE
        word := given ->> (naming ->> 'role');
        role := ltst_role(word);
        content := given ->> (naming ->> 'content');
        IF role IS NULL THEN
            RAISE check_violation USING MESSAGE = format(
                '%s must be one of human, user, ai, assistant, system, tool, not %s', naming ->> 'role', word);
        ELSIF content IS NULL THEN
            RAISE not_null_violation USING MESSAGE = format('%s must not be null', naming ->> 'content');
        ELSIF word <> (adoption.words ->> role) THEN
            shown := shown || jsonb_build_object('role', word);
        END IF;
    END IF;
    IF octet_length(content) > adoption.largest THEN
        RAISE check_violation USING MESSAGE = format('a message may have up to %s bytes', adoption.largest);
    END IF;
    happened := coalesce(CASE WHEN adoption.zone IS NULL THEN (given ->> (naming ->> 'time'))::timestamptz
                         ELSE (given ->> (naming ->> 'time'))::timestamp AT TIME ZONE adoption.zone END, now());
    IF NOT isfinite(happened) OR extract(year FROM happened) NOT BETWEEN 2 AND 9998 THEN
        RAISE check_violation USING MESSAGE = format('%s must be in the years 2 to 9998', naming ->> 'time');
    END IF;
END $$;

-- Stores a row of the program's, in a session that is shared with it; `former` is the message that it replaces, if any.
CREATE FUNCTION ltst_store_adopted(adoption adopted_tables, given JSONB, former conversation_messages)
RETURNS adopted_messages LANGUAGE plpgsql AS $$
DECLARE
    part RECORD;
    place INTEGER;
    number TEXT := given ->> (adoption.columns ->> 'id');
    taken BOOLEAN;
    id UUID := coalesce(former.message_id, gen_random_uuid());
    stored adopted_messages;
BEGIN
    SELECT * INTO part FROM ltst_read_adopted(adoption, given);
    IF former.message_id IS NOT NULL AND given ->> (adoption.columns ->> 'time') IS NULL THEN
        part.happened := former.timestamp;
        part.shown := part.shown || '{"undated": true}';
    END IF;
    PERFORM pg_advisory_xact_lock_shared(hashtextextended(part.owner, 2));
    place := 1 + ltst_open_session(part.owner, part.session, NULL, NULL, left(adoption.table_name, 255), part.happened);
    UPDATE conversation_sessions SET adoption_id = adoption.adoption_id
    WHERE user_id = part.owner AND session_id = part.session AND adoption_id IS NULL AND last_index = 0;
    IF NOT EXISTS (SELECT FROM conversation_sessions WHERE user_id = part.owner AND session_id = part.session
                   AND adoption_id = adoption.adoption_id) THEN
        RAISE unique_violation USING MESSAGE = format(
            'there is a conversation "%s" that does not belong to this table: choose another id', part.session);
    END IF;
    IF former.user_id = part.owner AND former.session_id = part.session THEN
        place := former.message_index;
        UPDATE conversation_sessions
        SET learned_index = least(learned_index, place - 1), refined_index = least(refined_index, place - 1)
        WHERE user_id = part.owner AND session_id = part.session;
    END IF;
    IF adoption.numbered AND number IS NOT NULL THEN
        EXECUTE format('SELECT EXISTS (SELECT FROM adopted_messages WHERE adoption_id = $1 AND row_%1$s = $2::%1$s)',
                       adoption.row_kind) INTO taken USING adoption.adoption_id, number;
        IF taken THEN
            RAISE unique_violation USING MESSAGE = format('there is a row %s already', number);
        END IF;
    END IF;
    -- Before the message, whose number must be the last that is given out: the program may ask for lastval().
    INSERT INTO event_ledger (user_id, actor, action, noun, row_id, details)
    VALUES (part.owner, left(adoption.table_name, 255), CASE WHEN former.message_id IS NULL THEN 'add' ELSE 'change' END,
            'message', id::text, jsonb_build_object('session_id', part.session, 'message_index', place));
    INSERT INTO conversation_messages (
        user_id, message_id, session_id, role, content, content_hash, context_hash, message_index, message_key,
        token_count, metadata, parent_message_id, timestamp, created_at)
    SELECT part.owner, id, part.session, part.role, part.content, hash,
           ltst_sha256(part.session || ':' || part.role || ':' || hash), place, former.message_key,
           (octet_length(part.content) + 3) / 4, coalesce(former.metadata, '{}') || part.metadata,
           former.parent_message_id, part.happened, coalesce(former.created_at, now())
    FROM ltst_sha256(part.content) AS hash;
    UPDATE adopted_messages SET shown = part.shown WHERE user_id = part.owner AND message_id = id
    RETURNING * INTO STRICT stored;
    IF adoption.numbered AND number IS NOT NULL THEN
        EXECUTE format('UPDATE adopted_messages SET row_%1$s = $1::%1$s WHERE user_id = $2 AND message_id = $3 RETURNING *',
                       adoption.row_kind) INTO stored USING number, part.owner, id;
    END IF;
    RETURN stored;
END $$;

-- The message behind a row that is shown. Where rows have no number, two that look the same are the same to the program.
CREATE FUNCTION ltst_find_adopted(adoption adopted_tables, seen JSONB) RETURNS adopted_messages
LANGUAGE plpgsql AS $$
DECLARE
    naming JSONB := adoption.columns;
    wanted adopted_messages;
    moment TEXT := seen ->> (naming ->> 'time');
BEGIN
    IF adoption.numbered THEN
        EXECUTE format('SELECT * FROM adopted_messages WHERE adoption_id = $1 AND row_%1$s = $2::%1$s', adoption.row_kind)
        INTO wanted USING adoption.adoption_id, seen ->> (naming ->> 'id');
        RETURN wanted;
    END IF;
    EXECUTE format(
        'SELECT adopted.* FROM adopted_messages AS adopted JOIN conversation_messages AS message USING (user_id, message_id) '
        'WHERE adopted.adoption_id = $1 AND adopted.session_%1$s = $2::%1$s AND message.content = $3 '
        '  AND coalesce(adopted.shown ->> ''role'', $4 ->> message.role) = $5 AND ($6 IS NULL OR message.timestamp = $6) '
        '  AND coalesce(adopted.shown -> ''columns'', ''{}'') = coalesce($7, ''{}'') '
        'ORDER BY message.message_index LIMIT 1', adoption.session_kind)
    INTO wanted
    USING adoption.adoption_id, seen ->> (naming ->> 'session'), seen ->> (naming ->> 'content'), adoption.words,
          seen ->> (naming ->> 'role'),
          CASE WHEN adoption.zone IS NULL THEN moment::timestamptz ELSE moment::timestamp AT TIME ZONE adoption.zone END,
          (SELECT jsonb_object_agg(each ->> 'name', seen -> (each ->> 'name'))
           FROM jsonb_array_elements(adoption.extras) AS each WHERE seen -> (each ->> 'name') <> 'null');
    RETURN wanted;
END $$;

-- Takes a message away and tells what it was, or nothing if another transaction was faster.
CREATE FUNCTION ltst_remove_adopted(wanted adopted_messages) RETURNS conversation_messages LANGUAGE plpgsql AS $$
DECLARE
    former conversation_messages;
BEGIN
    PERFORM pg_advisory_xact_lock_shared(hashtextextended(wanted.user_id, 2));
    PERFORM FROM conversation_sessions AS session JOIN conversation_messages AS message USING (user_id, session_id)
    WHERE message.user_id = wanted.user_id AND message.message_id = wanted.message_id FOR NO KEY UPDATE OF session;
    DELETE FROM conversation_messages WHERE user_id = wanted.user_id AND message_id = wanted.message_id
    RETURNING * INTO former;
    RETURN former;
END $$;

-- What the program writes into the view; the first argument is the adoption.
CREATE FUNCTION ltst_write_adopted() RETURNS TRIGGER LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    adoption adopted_tables;
    wanted adopted_messages;
    former conversation_messages;
    children UUID[];
    stored adopted_messages;
    seen JSONB := to_jsonb(OLD);
    given JSONB := to_jsonb(NEW);
    extra JSONB;
    written TEXT;
BEGIN
    SELECT * INTO STRICT adoption FROM adopted_tables WHERE adoption_id = TG_ARGV[0]::uuid;
    -- What JSON cannot say so that it can be read again, such as arrays, is kept as text.
    FOR extra IN SELECT each FROM jsonb_array_elements(adoption.extras) AS each WHERE each -> 'text' = 'true' LOOP
        IF TG_OP <> 'INSERT' THEN
            EXECUTE format('SELECT ($1).%I::text', extra ->> 'name') INTO written USING OLD;
            seen := seen || jsonb_build_object(extra ->> 'name', written);
        END IF;
        IF TG_OP <> 'DELETE' THEN
            EXECUTE format('SELECT ($1).%I::text', extra ->> 'name') INTO written USING NEW;
            given := given || jsonb_build_object(extra ->> 'name', written);
        END IF;
    END LOOP;
    IF TG_OP <> 'INSERT' THEN
        IF seen = given THEN
            RETURN NEW;
        END IF;
        wanted := ltst_find_adopted(adoption, seen);
        IF TG_OP = 'UPDATE' THEN
            PERFORM ltst_read_adopted(adoption, given);  -- before anything is taken away
            children := ARRAY(SELECT message_id FROM conversation_messages
                              WHERE user_id = wanted.user_id AND parent_message_id = wanted.message_id);
        END IF;
        former := ltst_remove_adopted(wanted);
        IF former.message_id IS NULL THEN
            RETURN NULL;
        ELSIF TG_OP = 'DELETE' THEN
            INSERT INTO event_ledger (user_id, actor, action, noun, row_id, details)
            VALUES (former.user_id, left(adoption.table_name, 255), 'delete', 'message', former.message_id::text,
                    jsonb_build_object('session_id', former.session_id));
            RETURN OLD;
        END IF;
    END IF;
    stored := ltst_store_adopted(adoption, given, former);
    IF stored.user_id = former.user_id THEN
        UPDATE conversation_messages SET parent_message_id = stored.message_id
        WHERE user_id = stored.user_id AND message_id = ANY(children);
    END IF;
    given := '{}';
    IF adoption.numbered THEN
        given := jsonb_build_object(adoption.columns ->> 'id', to_jsonb(stored) -> ('row_' || adoption.row_kind));
    END IF;
    IF adoption.columns ? 'user' THEN
        given := given || jsonb_build_object(adoption.columns ->> 'user', stored.user_id);
    END IF;
    IF adoption.columns ? 'time' THEN
        given := given || (
            SELECT jsonb_build_object(adoption.columns ->> 'time', CASE WHEN adoption.zone IS NULL THEN to_jsonb(timestamp)
                                      ELSE to_jsonb(timestamp AT TIME ZONE adoption.zone) END)
            FROM conversation_messages WHERE user_id = stored.user_id AND message_id = stored.message_id);
    END IF;
    NEW := jsonb_populate_record(NEW, given);
    RETURN NEW;
END $$;

-- These run with more rights than their callers have: names mean what they mean here, and nobody else may use them.
DO $$
DECLARE
    name TEXT;
BEGIN
    FOREACH name IN ARRAY ARRAY['ltst_number_adopted(text, text, uuid[])', 'ltst_forget_kept()', 'ltst_erase_kept(text)',
                                'ltst_write_adopted()'] LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path TO %I, pg_temp', name, current_schema());
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', name);
    END LOOP;
END $$;
GRANT EXECUTE ON FUNCTION ltst_number_adopted(TEXT, TEXT, UUID[]) TO ltst_user, ltst_keeper;
GRANT EXECUTE ON FUNCTION ltst_erase_kept(TEXT) TO ltst_keeper;
