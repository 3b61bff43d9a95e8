-- Places: one memory over several servers. Where Citus has distributed the tables, all that belongs to a user lies in one
-- shard of each table, and all of these on one node: together they are a place. A schema of views gives the shards of a
-- place the names of the tables, so that whoever has entered it works as in a database that has no other users. On a
-- single server nobody enters a place.

-- What was read of a message, and the transaction that wrote it: a view has no columns of the system's own.
CREATE VIEW message_versions WITH (security_invoker = true) AS
SELECT session_id, role, content, message_type, message_index, parent_message_id, metadata, relevance_score,
       is_context_message, timestamp, message_id, user_id, content_hash, context_hash, message_key, token_count, created_at,
       xmin::text AS version
FROM conversation_messages;
GRANT SELECT ON message_versions TO ltst_user, ltst_keeper;

-- The same as before, over that view.
CREATE OR REPLACE FUNCTION ltst_window_difference(
    acting_user TEXT, session TEXT, most INTEGER, tokens INTEGER, known JSONB
) RETURNS TABLE (
    kept INTEGER[], version TEXT, session_id VARCHAR, role VARCHAR, content TEXT, message_type VARCHAR,
    message_index INTEGER, parent_message_id UUID, metadata JSONB, relevance_score FLOAT, is_context_message BOOLEAN,
    "timestamp" TIMESTAMPTZ, message_id UUID, user_id VARCHAR, content_hash VARCHAR, context_hash VARCHAR,
    message_key VARCHAR, token_count INTEGER, created_at TIMESTAMPTZ
) LANGUAGE plpgsql STABLE ROWS 50 AS $$
#variable_conflict use_column
DECLARE
    message RECORD;
    spent BIGINT := 0;
    unchanged INTEGER[] := '{}';
    oldest INTEGER;
    newest INTEGER;
BEGIN
    PERFORM set_config('ltst.user_id', acting_user, true), set_config('role', 'ltst_user', true);
    FOR message IN
        SELECT message_index, token_count, version = known ->> message_id::text AS same
        FROM message_versions
        WHERE user_id = acting_user AND session_id = session ORDER BY message_index DESC LIMIT most
    LOOP
        spent := spent + message.token_count;
        EXIT WHEN spent > tokens;
        IF message.same THEN
            unchanged := unchanged || message.message_index;
        ELSE
            newest := coalesce(newest, message.message_index);
            oldest := message.message_index;
        END IF;
    END LOOP;
    kept := unchanged;
    RETURN NEXT;
    IF oldest IS NOT NULL THEN
        RETURN QUERY
        SELECT NULL::integer[], version, session_id, role, content, message_type, message_index, parent_message_id,
               metadata, relevance_score, is_context_message, timestamp, message_id, user_id, content_hash,
               context_hash, message_key, token_count, created_at
        FROM message_versions
        WHERE user_id = acting_user AND session_id = session AND message_index BETWEEN oldest AND newest
          AND message_index <> ALL (unchanged)
        ORDER BY message_index;
    END IF;
END $$;

-- The same as before, grouped by all that it shows: over a view nobody knows that the first two tell the others.
CREATE OR REPLACE VIEW session_summary WITH (security_invoker = true) AS
SELECT session.user_id,
       session.session_id,
       session.session_name,
       session.session_type,
       session.status,
       session.created_at,
       session.last_activity,
       count(message.message_id)::integer AS message_count,
       count(*) FILTER (WHERE message.role = 'human')::integer AS human_messages,
       count(*) FILTER (WHERE message.role = 'ai')::integer AS ai_messages,
       count(*) FILTER (WHERE message.role = 'system')::integer AS system_messages,
       count(*) FILTER (WHERE message.role = 'tool')::integer AS tool_messages,
       coalesce(sum(message.token_count), 0)::integer AS token_count,
       min(message.timestamp) AS first_message_time,
       max(message.timestamp) AS last_message_time,
       avg(message.relevance_score) AS avg_message_relevance
FROM conversation_sessions AS session
LEFT JOIN conversation_messages AS message USING (user_id, session_id)
GROUP BY session.user_id, session.session_id, session.session_name, session.session_type, session.status,
         session.created_at, session.last_activity;

-- Enters a place, which bears the number of its shard of conversation_sessions, for this transaction. Whoever moves the
-- place to another node waits until the transaction ends; while it is being moved, this waits. LT001 tells that the place
-- is not, or no longer, on this node; LT002 that its schema is not made yet.
CREATE FUNCTION ltst_enter_place(shard BIGINT) RETURNS VOID LANGUAGE plpgsql AS $$
DECLARE
    place CONSTANT TEXT := 'ltst_place_' || shard;
BEGIN
    PERFORM lock_shard_metadata(5, ARRAY[shard]);  -- a share
    PERFORM FROM pg_dist_placement JOIN pg_dist_local_group USING (groupid) WHERE shardid = shard;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'LT001', MESSAGE = 'place ' || shard || ' is not on this node';
    ELSIF to_regclass(place || '.search_users') IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'LT002', MESSAGE = 'place ' || shard || ' is not made yet';
    END IF;
    PERFORM set_config('search_path', place || ', ltst_node, ' || current_setting('search_path'), true);
END $$;

-- Makes numbers that a node gives from now on higher than one that came with a place from elsewhere. The step leaves room
-- for those that are drawn at this moment.
CREATE FUNCTION ltst_number_above(numbers REGCLASS, seen BIGINT) RETURNS VOID LANGUAGE plpgsql AS $$
DECLARE
    reached BIGINT;
BEGIN
    EXECUTE format('SELECT last_value FROM %s', numbers) INTO reached;
    IF seen >= reached THEN
        PERFORM setval(numbers, seen + 1000000);
    END IF;
END $$;

-- Makes the schema of a place on the node that holds it, and stays in it for this transaction; one that is there is left
-- alone, or made anew. Tells whether it was made. What Citus cannot give a shard is given here: references that are
-- emptied with what they name, and the numbers of events, which all places of a node draw from the same sequences, as
-- the locks tell of all (see positions).
CREATE FUNCTION ltst_make_place(shard BIGINT, anew BOOLEAN) RETURNS BOOLEAN LANGUAGE plpgsql AS $$
DECLARE
    place CONSTANT TEXT := 'ltst_place_' || shard;
    home CONSTANT TEXT := current_schema();
    part RECORD;
    messages TEXT;
    facts TEXT;
BEGIN
    PERFORM pg_advisory_xact_lock(7110756);  -- what several processes find missing is made by one of them
    -- Read from the catalog: by name, a session may not have heard yet of what another made while it waited.
    PERFORM FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = place AND relname = 'search_users';
    IF FOUND AND NOT anew THEN
        RETURN false;
    END IF;
    SET LOCAL citus.enable_ddl_propagation = off;
    SET LOCAL citus.enable_manual_changes_to_shards = on;
    SET LOCAL client_min_messages = warning;
    CREATE SCHEMA IF NOT EXISTS ltst_node;
    CREATE SEQUENCE IF NOT EXISTS ltst_node.ledger_positions;
    CREATE SEQUENCE IF NOT EXISTS ltst_node.event_ids;
    EXECUTE format('DROP SCHEMA IF EXISTS %I CASCADE', place);
    EXECUTE format('CREATE SCHEMA %I', place);
    EXECUTE format('GRANT USAGE ON SCHEMA ltst_node, %I TO ltst_user, ltst_keeper', place);
    GRANT SELECT, USAGE ON ALL SEQUENCES IN SCHEMA ltst_node TO ltst_user, ltst_keeper;
    FOR part IN
        SELECT relname, shard_name(one.logicalrelid, one.shardid) AS name
        FROM pg_dist_shard AS anchor JOIN pg_dist_partition AS sessions USING (logicalrelid),
             pg_dist_shard AS one JOIN pg_dist_partition AS kept USING (logicalrelid)
             JOIN pg_class ON pg_class.oid = one.logicalrelid
        WHERE anchor.shardid = shard AND relnamespace = home::regnamespace
          AND (kept.colocationid = sessions.colocationid AND one.shardminvalue = anchor.shardminvalue
               OR kept.partmethod = 'n' AND kept.repmodel = 't')
    LOOP
        EXECUTE format('CREATE VIEW %I.%I WITH (security_invoker = true) AS SELECT * FROM %s', place, part.relname, part.name);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I.%I TO ltst_user, ltst_keeper', place, part.relname);
        messages := CASE part.relname WHEN 'conversation_messages' THEN part.name ELSE messages END;
        facts := CASE part.relname WHEN 'user_facts' THEN part.name ELSE facts END;
    END LOOP;
    PERFORM ltst_refer(messages, 'parent_message_id', messages), ltst_refer(facts, 'source_message_id', messages);
    PERFORM set_config('search_path', place || ', ltst_node, ' || current_setting('search_path'), true);
    ALTER VIEW event_ledger ALTER COLUMN event_id SET DEFAULT nextval('event_ids');
    -- Read by whoever makes it: as the keeper, since policies hide the rows from the owner.
    SET LOCAL ROLE ltst_keeper;
    SELECT max(position) AS position, max(event_id) AS event_id INTO part FROM event_ledger;
    RESET ROLE;
    PERFORM ltst_number_above('ledger_positions', part.position), ltst_number_above('event_ids', part.event_id);
    RETURN true;
END $$;

-- Lets a column of a shard refer to a message, and be emptied when that goes.
CREATE FUNCTION ltst_refer(shard TEXT, referring TEXT, messages TEXT) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM pg_constraint WHERE conrelid = shard::regclass AND conname = referring || '_refers';
    IF NOT FOUND THEN
        EXECUTE format('ALTER TABLE %s ADD CONSTRAINT %I FOREIGN KEY (user_id, %I) REFERENCES %s (user_id, message_id) '
                       'ON DELETE SET NULL (%I)', shard, referring || '_refers', referring, messages, referring);
    END IF;
END $$;

-- The shard that a view of a place shows.
CREATE FUNCTION ltst_shard_of(shown REGCLASS) RETURNS REGCLASS LANGUAGE sql STABLE AS $$
    SELECT refobjid::regclass FROM pg_rewrite
    JOIN pg_depend ON pg_depend.classid = 'pg_rewrite'::regclass AND objid = pg_rewrite.oid AND refobjsubid = 1
    WHERE ev_class = shown
$$;

-- How many rows tables hold, about, and how many bytes: in a place, those of its shards.
CREATE FUNCTION ltst_table_sizes(tables TEXT[]) RETURNS TABLE (name TEXT, rows BIGINT, bytes BIGINT)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF current_schema() NOT LIKE 'ltst\_place\_%' THEN
        RETURN QUERY
        SELECT class.relname::text, coalesce(nullif(stat.n_live_tup, 0), greatest(class.reltuples, 0))::bigint,
               pg_total_relation_size(class.oid)
        FROM pg_class AS class JOIN pg_stat_user_tables AS stat ON stat.relid = class.oid
        WHERE class.relnamespace = current_schema()::regnamespace AND class.relkind IN ('r', 'p')
          AND class.relname = ANY(tables);
        RETURN;
    END IF;
    RETURN QUERY
    SELECT class.relname::text, pg_stat_get_live_tuples(shard), pg_total_relation_size(shard)
    FROM pg_class AS class CROSS JOIN LATERAL (SELECT ltst_shard_of(class.oid) AS shard) AS behind
    WHERE class.relnamespace = current_schema()::regnamespace AND class.relname = ANY(tables);
END $$;
