-- Functions and triggers. Functions run with the caller's rights; none of them can see past row-level security.

-- The owner of a session for a row written by hand: the acting user if one is set, else the only user who has it.
CREATE FUNCTION ltst_session_owner(wanted TEXT) RETURNS TEXT LANGUAGE plpgsql STABLE AS $$
DECLARE
    acting TEXT := nullif(current_setting('ltst.user_id', true), '');
    owners TEXT[];
BEGIN
    IF acting IS NOT NULL THEN
        RETURN acting;
    END IF;
    SELECT array_agg(user_id) INTO owners FROM conversation_sessions WHERE session_id = wanted;
    IF cardinality(owners) = 1 THEN
        RETURN owners[1];
    ELSIF owners IS NULL THEN
        RAISE foreign_key_violation USING MESSAGE = 'no session "' || wanted || '": create it first';
    END IF;
    RAISE unique_violation USING MESSAGE = 'several users have a session "' || wanted || '": name the user_id';
END $$;

CREATE FUNCTION ltst_fill_user_id() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    NEW.user_id := ltst_session_owner(NEW.session_id);
    RETURN NEW;
END $$;

CREATE TRIGGER fill_user_id_trigger BEFORE INSERT ON conversation_context
    FOR EACH ROW WHEN (NEW.user_id IS NULL) EXECUTE FUNCTION ltst_fill_user_id();

CREATE FUNCTION ltst_fill_relationship() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    NEW.user_id := ltst_session_owner(NEW.source_session_id);
    RETURN NEW;
END $$;

CREATE TRIGGER fill_user_id_trigger BEFORE INSERT ON session_relationships
    FOR EACH ROW WHEN (NEW.user_id IS NULL) EXECUTE FUNCTION ltst_fill_relationship();

-- What an INSERT by hand leaves out of a message: owner, hashes, the next index.
CREATE FUNCTION ltst_fill_message() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    NEW.user_id := coalesce(NEW.user_id, ltst_session_owner(NEW.session_id));
    NEW.content_hash := coalesce(NEW.content_hash, ltst_sha256(NEW.content));
    NEW.context_hash := coalesce(
        NEW.context_hash, ltst_sha256(NEW.session_id || ':' || NEW.role || ':' || NEW.content_hash));
    IF NEW.message_index IS NULL THEN
        -- Rows come in the order of the statement; without this, two statements over the same sessions in another
        -- order would wait for each other.
        PERFORM pg_advisory_xact_lock(hashtextextended(NEW.user_id, 0));
        UPDATE conversation_sessions SET last_index = last_index + 1
        WHERE user_id = NEW.user_id AND session_id = NEW.session_id
        RETURNING last_index INTO NEW.message_index;
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER fill_message_trigger BEFORE INSERT ON conversation_messages
    FOR EACH ROW WHEN (NEW.user_id IS NULL OR NEW.message_index IS NULL
                       OR NEW.content_hash IS NULL OR NEW.context_hash IS NULL)
    EXECUTE FUNCTION ltst_fill_message();

-- Counts what one statement added: once per session, whatever the number of rows, and in the order of the
-- sessions' keys, so that two statements over the same sessions cannot wait for each other in a circle.
CREATE FUNCTION update_session_length() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
    counted RECORD;
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
        WHERE user_id = counted.user_id AND session_id = counted.session_id;
    END LOOP;
    RETURN NULL;
END $$;

CREATE TRIGGER update_session_length_trigger AFTER INSERT ON conversation_messages
    REFERENCING NEW TABLE AS added_messages FOR EACH STATEMENT EXECUTE FUNCTION update_session_length();

CREATE FUNCTION ltst_uncount_messages() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
    counted RECORD;
BEGIN
    FOR counted IN
        SELECT user_id, session_id, count(*) AS removed
        FROM removed_messages GROUP BY user_id, session_id ORDER BY user_id, session_id
    LOOP
        UPDATE conversation_sessions SET session_length = session_length - counted.removed
        WHERE user_id = counted.user_id AND session_id = counted.session_id;
    END LOOP;
    RETURN NULL;
END $$;

CREATE TRIGGER uncount_messages_trigger AFTER DELETE ON conversation_messages
    REFERENCING OLD TABLE AS removed_messages FOR EACH STATEMENT EXECUTE FUNCTION ltst_uncount_messages();

-- Locks a session and tells its last index; creates the session on its first write.
CREATE FUNCTION ltst_open_session(
    acting_user TEXT, wanted TEXT, agent TEXT, name TEXT, acting TEXT, began TIMESTAMPTZ
) RETURNS INTEGER LANGUAGE plpgsql AS $$
DECLARE
    newest INTEGER;
BEGIN
    LOOP
        SELECT last_index INTO newest FROM conversation_sessions
        WHERE user_id = acting_user AND session_id = wanted FOR NO KEY UPDATE;
        IF FOUND THEN
            RETURN newest;
        END IF;
        INSERT INTO conversation_sessions (user_id, session_id, session_name, agent_name, created_at, last_activity)
        VALUES (acting_user, wanted, name, agent, began, began) ON CONFLICT DO NOTHING;
        IF FOUND THEN
            INSERT INTO event_ledger (user_id, actor, action, noun, row_id)
            VALUES (acting_user, acting, 'add', 'session', wanted);
        END IF;
        -- Once more: another transaction may have created it, or deleted it, in between.
    END LOOP;
END $$;

-- The write path: one call, one commit. `outcome` is 'added', 'kept' (the same message was there already) or
-- 'conflict' (its key belongs to other content); nothing is written unless it is 'added'.
CREATE FUNCTION ltst_add_message(
    acting_user TEXT, session TEXT, new_id UUID, new_role TEXT, new_content TEXT, hash TEXT, scoped_hash TEXT,
    tokens INTEGER, happened TIMESTAMPTZ, extra JSONB, parent UUID, key TEXT, agent TEXT, name TEXT, acting TEXT,
    retried BOOLEAN,
    OUT outcome TEXT, OUT message_id UUID, OUT message_index INTEGER, OUT created_at TIMESTAMPTZ
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    known RECORD;
BEGIN
    PERFORM set_config('ltst.user_id', acting_user, true), set_config('role', 'ltst_user', true),
            pg_advisory_xact_lock_shared(hashtextextended(acting_user, 2));  -- so that an erasure waits
    SELECT s.last_index + 1 INTO message_index FROM conversation_sessions AS s
    WHERE s.user_id = acting_user AND s.session_id = session FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        message_index := 1 + ltst_open_session(acting_user, session, agent, name, acting, happened);
    END IF;
    IF key IS NOT NULL THEN
        SELECT m.message_id, m.content_hash, m.role INTO known FROM conversation_messages AS m
        WHERE m.user_id = acting_user AND m.session_id = session AND ltst_sha256(m.message_key) = ltst_sha256(key);
        IF FOUND THEN
            message_id := known.message_id;
            outcome := CASE WHEN known.content_hash = hash AND known.role = new_role THEN 'kept' ELSE 'conflict' END;
            RETURN;
        END IF;
    END IF;
    IF retried AND EXISTS (SELECT FROM conversation_messages AS m
                           WHERE m.user_id = acting_user AND m.message_id = new_id) THEN
        message_id := new_id;
        outcome := 'kept';
        RETURN;
    END IF;
    created_at := now();
    INSERT INTO conversation_messages (
        user_id, message_id, session_id, role, content, content_hash, context_hash, message_index, message_key,
        token_count, metadata, parent_message_id, timestamp, created_at)
    VALUES (acting_user, new_id, session, new_role, new_content, hash, scoped_hash, message_index, key,
            tokens, extra, parent, happened, created_at);
    INSERT INTO event_ledger (user_id, actor, action, noun, row_id, details)
    VALUES (acting_user, acting, 'add', 'message', new_id::text,
            jsonb_build_object('session_id', session, 'message_index', message_index));
    message_id := new_id;
    outcome := 'added';
END $$;

-- The short-term window: the newest messages, as many as were asked for and as fit into the tokens, oldest first.
CREATE FUNCTION ltst_window(acting_user TEXT, session TEXT, most INTEGER, tokens INTEGER)
RETURNS SETOF conversation_messages LANGUAGE plpgsql AS $$
DECLARE
    oldest INTEGER;
    spent BIGINT := 0;
    message RECORD;
BEGIN
    PERFORM set_config('ltst.user_id', acting_user, true), set_config('role', 'ltst_user', true);
    FOR message IN
        SELECT message_index, token_count FROM conversation_messages
        WHERE user_id = acting_user AND session_id = session ORDER BY message_index DESC LIMIT most
    LOOP
        spent := spent + message.token_count;
        EXIT WHEN spent > tokens;
        oldest := message.message_index;
    END LOOP;
    RETURN QUERY SELECT * FROM conversation_messages
    WHERE user_id = acting_user AND session_id = session AND message_index >= oldest ORDER BY message_index;
END $$;

CREATE FUNCTION clean_expired_cache() RETURNS INTEGER LANGUAGE sql AS $$
    WITH gone AS (DELETE FROM memory_retrieval_cache WHERE expires_at <= now() RETURNING 1)
    SELECT count(*)::integer FROM gone;
$$;

CREATE FUNCTION clean_expired_context() RETURNS INTEGER LANGUAGE sql AS $$
    WITH gone AS (DELETE FROM conversation_context WHERE expires_at <= now() RETURNING user_id, context_id),
    told AS (
        INSERT INTO event_ledger (user_id, actor, action, noun, row_id)
        SELECT user_id, 'maintenance', 'expire', 'context', context_id::text FROM gone)
    SELECT count(*)::integer FROM gone;
$$;

-- Removes every row of a user from the given tables, which are ltst's own, and counts what is left.
CREATE FUNCTION ltst_erase_user(erased TEXT, tables TEXT[])
RETURNS TABLE (table_name TEXT, removed BIGINT, remaining BIGINT) LANGUAGE plpgsql AS $$
DECLARE
    owned TEXT[] := ARRAY(
        SELECT class.relname::text FROM pg_class AS class JOIN pg_attribute AS attribute ON attrelid = class.oid
        WHERE relnamespace = current_schema()::regnamespace AND relname = ANY(tables)
          AND attname = 'user_id' AND NOT attisdropped ORDER BY 1);
    counts JSONB := '{}';
BEGIN
    -- Every write of the user begins with a share in this lock: they end first, and new ones wait.
    PERFORM pg_advisory_xact_lock(hashtextextended(erased, 2));
    -- Rows written by hand do not know of it; they lock the session first.
    PERFORM FROM conversation_sessions WHERE user_id = erased ORDER BY session_id FOR UPDATE;
    -- Counted before anything is removed, since removing a session removes what hangs on it.
    FOREACH table_name IN ARRAY owned LOOP
        EXECUTE format('SELECT count(*) FROM %I WHERE user_id = $1', table_name) INTO removed USING erased;
        counts := counts || jsonb_build_object(table_name, removed);
    END LOOP;
    FOREACH table_name IN ARRAY owned LOOP
        EXECUTE format('DELETE FROM %I WHERE user_id = $1', table_name) USING erased;
    END LOOP;
    FOREACH table_name IN ARRAY owned LOOP
        EXECUTE format('SELECT count(*) FROM %I WHERE user_id = $1', table_name) INTO remaining USING erased;
        removed := counts ->> table_name;
        RETURN NEXT;
    END LOOP;
END $$;
