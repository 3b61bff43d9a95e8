-- Items: JSON values under a namespace and a key.

-- What tells items apart: one id for one namespace and key, so that the primary key keeps them single.
CREATE FUNCTION ltst_item_id(namespace TEXT[], key TEXT) RETURNS UUID LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN left(ltst_sha256((namespace || key)::text), 32)::uuid;
END $$;

-- The beginning of a namespace as one text, short enough for an index: that of everything below it begins alike.
CREATE FUNCTION ltst_path(namespace TEXT[]) RETURNS TEXT LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN left(array_to_string(namespace, E'\x01') || CASE WHEN namespace = '{}' THEN '' ELSE E'\x01' END, 300);
END $$;

-- What follows the paths of everything below a namespace.
CREATE FUNCTION ltst_path_after(namespace TEXT[]) RETURNS TEXT LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    path CONSTANT TEXT := ltst_path(namespace);
BEGIN
    RETURN CASE WHEN path = '' THEN repeat(chr(1114111), 301)
                WHEN length(path) = 300 THEN path || E'\x01'
                ELSE left(path, -1) || E'\x02' END;
END $$;

CREATE TABLE items (
    user_id    VARCHAR(255) NOT NULL CHECK (user_id <> ''),
    item_id    UUID NOT NULL,
    namespace  TEXT[] COLLATE "C" NOT NULL CHECK (cardinality(namespace) > 0),
    key        TEXT COLLATE "C" NOT NULL CHECK (key <> ''),
    -- Bytes and NUL are written as `support/lossless.py` says: JSONB has neither.
    value      JSONB NOT NULL,
    -- What it is found by; null if it is not searched for.
    content    TEXT,
    -- What its owner compares it by, of whatever model.
    vectors    VECTOR[],
    revision   BIGINT NOT NULL DEFAULT 1 CHECK (revision > 0),
    created_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    updated_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    ttl        INTERVAL,
    expires_at TIMESTAMPTZ,
    path       TEXT COLLATE "C" NOT NULL GENERATED ALWAYS AS (ltst_path(namespace)) STORED,
    PRIMARY KEY (user_id, item_id),
    CHECK (item_id = ltst_item_id(namespace, key))
);
CREATE INDEX idx_items_path ON items (user_id, path);
CREATE INDEX idx_items_expires_at ON items (expires_at) WHERE expires_at IS NOT NULL;

ALTER TABLE items ENABLE ROW LEVEL SECURITY;
ALTER TABLE items FORCE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON items TO ltst_user
    USING (user_id = current_setting('ltst.user_id', true)) WITH CHECK (user_id = current_setting('ltst.user_id', true));
CREATE POLICY all_rows ON items TO ltst_keeper USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON items TO ltst_user, ltst_keeper;

-- Whether a namespace begins, or ends, with these labels; * stands for any one.
CREATE FUNCTION ltst_namespace_has(namespace TEXT[], labels TEXT[], at_end BOOLEAN) RETURNS BOOLEAN
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    before CONSTANT INTEGER := CASE WHEN at_end THEN cardinality(namespace) - cardinality(labels) ELSE 0 END;
BEGIN
    RETURN cardinality(namespace) >= cardinality(labels) AND NOT EXISTS (
        SELECT FROM unnest(labels) WITH ORDINALITY AS each (label, place)
        WHERE label <> '*' AND label <> namespace[before + place]);
END $$;

-- Whether a value meets all conditions: each the path to a field, a comparison and what it is compared with. A field that
-- is not there is null. What is larger or smaller is told of two numbers or of two texts.
CREATE FUNCTION ltst_value_meets(value JSONB, conditions JSONB) RETURNS BOOLEAN LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    condition JSONB;
    field JSONB;
    bound JSONB;
    met BOOLEAN;
BEGIN
    FOR condition IN SELECT * FROM jsonb_array_elements(conditions) LOOP
        field := coalesce(value #> ltst_listed(condition -> 0), 'null');
        bound := condition -> 2;
        met := CASE condition ->> 1
            WHEN '$eq' THEN field = bound
            WHEN '$ne' THEN field <> bound
            ELSE CASE
                WHEN jsonb_typeof(field) <> jsonb_typeof(bound) THEN false
                WHEN jsonb_typeof(field) = 'number' THEN CASE condition ->> 1
                    WHEN '$gt' THEN field > bound WHEN '$gte' THEN field >= bound
                    WHEN '$lt' THEN field < bound WHEN '$lte' THEN field <= bound END
                WHEN jsonb_typeof(field) = 'string' THEN CASE condition ->> 1
                    WHEN '$gt' THEN field #>> '{}' > bound #>> '{}' COLLATE "C"
                    WHEN '$gte' THEN field #>> '{}' >= bound #>> '{}' COLLATE "C"
                    WHEN '$lt' THEN field #>> '{}' < bound #>> '{}' COLLATE "C"
                    WHEN '$lte' THEN field #>> '{}' <= bound #>> '{}' COLLATE "C" END
                ELSE false END
            END;
        IF NOT met THEN
            RETURN false;
        END IF;
    END LOOP;
    RETURN true;
END $$;

-- How near the nearest of an item's vectors is to another, nearer being more; null where none has its dimensions.
CREATE FUNCTION ltst_item_nearness(vectors VECTOR[], compared VECTOR, distance TEXT) RETURNS FLOAT
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN (SELECT max(nullif(CASE distance WHEN 'cosine' THEN 1 - (vector <=> compared)
                                            WHEN 'inner_product' THEN -(vector <#> compared)
                                            WHEN 'l2' THEN -(vector <-> compared) END, 'NaN'))
            FROM unnest(vectors) AS vector WHERE vector_dims(vector) = vector_dims(compared));
END $$;

-- Items that are found by nothing are not noted as due.
CREATE FUNCTION ltst_items_added() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO search_due (user_id, kind, row_id)
    SELECT user_id, 'item', item_id FROM added WHERE content IS NOT NULL ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER rows_added_trigger AFTER INSERT ON items
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION ltst_items_added();
CREATE TRIGGER rows_removed_trigger AFTER DELETE ON items
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION ltst_rows_removed('item_id');
CREATE TRIGGER row_rewritten_trigger AFTER UPDATE OF content ON items
    FOR EACH ROW WHEN (OLD.content IS DISTINCT FROM NEW.content) EXECUTE FUNCTION ltst_row_rewritten('item', 'item_id');
CREATE TRIGGER row_changed_trigger AFTER UPDATE OF updated_at, expires_at ON items
    FOR EACH ROW WHEN (OLD.content = NEW.content
                       AND (OLD.updated_at, OLD.expires_at) IS DISTINCT FROM (NEW.updated_at, NEW.expires_at))
    EXECUTE FUNCTION ltst_row_changed('item', 'item_id');

-- The same as before, with items.
CREATE OR REPLACE VIEW search_sources WITH (security_invoker = true) AS
SELECT message.user_id, 'message' AS kind, message_id AS row_id, message_id AS id, session_id,
       'message ' || session_id AS place,
       message_index AS position, timestamp AS occurred_at, NULL::timestamptz AS valid_from, NULL::timestamptz AS valid_until,
       NULL::timestamptz AS expires_at, content, content_hash::text AS content_hash, role::text AS role,
       coalesce(metadata ->> 'speaker', metadata ->> 'name') AS said_by, role <> 'human' AS by_machine,
       metadata @> '{"retold": true}' AS retold, NULL::float AS importance, NULL::timestamptz AS used_at,
       NULL::text AS subtype,
       (SELECT session_name FROM conversation_sessions AS session
        WHERE session.user_id = message.user_id AND session.session_id = message.session_id)::text AS title,
       NULL::text AS heading, metadata, ARRAY[message_id] AS sources,
       role <> 'tool' AND coalesce(metadata ->> 'trust', '') <> 'low'
       AND coalesce(metadata ->> 'source', '') NOT IN ('tool', 'web', 'document', 'email', 'file', 'paste') AS trusted,
       NULL::jsonb AS details, NOT metadata @> '{"retold": true}' AS vectored
FROM conversation_messages AS message
UNION ALL
SELECT user_id, 'fact', fact_id, fact_id, NULL, 'fact ' || fact_id, 0, valid_from, valid_from, valid_to, NULL,
       CASE about WHEN 'me' THEN '' ELSE about || ': ' END || fact_key || ': ' || fact_value, NULL, NULL, NULL, false,
       learned, NULL, NULL, NULL, NULL, NULL, metadata,
       ARRAY(SELECT source_message_id WHERE source_message_id IS NOT NULL
             UNION SELECT message_id FROM claims WHERE claims.user_id = fact.user_id AND row_id = fact.fact_id),
       true, CASE WHEN about <> 'me' THEN jsonb_build_object('about', about) END, true
FROM user_facts AS fact WHERE rejected_at IS NULL
UNION ALL
SELECT user_id, 'entry', entry_id, entry_id, session_id, 'entry ' || entry_id, 0, occurred_at, NULL, NULL, expires_at,
       content, NULL, NULL, NULL, false, learned,
       CASE WHEN importance_score < 1e-30 THEN 0 ELSE importance_score END,  -- as a REAL holds it
       greatest(last_used, occurred_at), memory_type, NULL, NULL, metadata,
       ARRAY(SELECT told::uuid FROM jsonb_array_elements_text(
                 CASE WHEN learned AND jsonb_typeof(metadata -> 'sources') = 'array'
                      THEN metadata -> 'sources' ELSE '[]' END) AS told
             WHERE told ~ '^[0-9a-f-]{36}$'),
       coalesce(metadata ->> 'trust', '') <> 'low', NULL, true
FROM memory_entries
UNION ALL
SELECT user_id, 'document', chunk_id, document_id, NULL, 'document ' || document_id, chunk_index, document.created_at,
       NULL, NULL, NULL, chunk.content, NULL, NULL, NULL, false, false, NULL, NULL, NULL, document.title,
       chunk.metadata ->> 'heading', document.metadata, '{}', false, chunk.metadata, true
FROM document_chunks AS chunk JOIN documents AS document USING (user_id, document_id)
UNION ALL
-- Working memory is not searched: the conversation that it belongs to shows all of it.
SELECT user_id, 'context', context_id, context_id, session_id, 'context ' || context_id, 0, created_at, NULL, NULL,
       expires_at, replace(context_key, '_', ' ') || ': ' || context_value, NULL, NULL, NULL, false, false, NULL, NULL,
       context_type, NULL, NULL, metadata, '{}', true, NULL, true
FROM conversation_context WHERE context_type <> 'working'
UNION ALL
SELECT stated.user_id, 'statement', statement_id, statement_id, session_id, 'message ' || session_id, message_index,
       said_at, NULL, superseded_at, NULL, substr(content, start_at + 1, end_at - start_at), NULL, role,
       coalesce(metadata ->> 'speaker', metadata ->> 'name'), false, true, NULL, NULL, stated.kind,
       (SELECT session_name FROM conversation_sessions AS session
        WHERE session.user_id = message.user_id AND session.session_id = message.session_id),
       NULL, metadata, ARRAY[message_id], trust <> 'low',
       jsonb_build_object('about', about, 'start', start_at, 'end', end_at, 'since', since, 'until', until),
       char_length(btrim(content, E' \t\r\n')) > end_at - start_at
FROM statements AS stated JOIN conversation_messages AS message USING (user_id, message_id)
WHERE rejected_at IS NULL
UNION ALL
-- The fields of a value are filtered by as metadata are.
SELECT user_id, 'item', item_id, item_id, NULL, 'item ' || item_id, 0, updated_at, NULL, NULL, expires_at, content, NULL,
       NULL, NULL, false, false, NULL, NULL, NULL, NULL, NULL,
       CASE jsonb_typeof(value) WHEN 'object' THEN value ELSE '{}' END, '{}', true,
       jsonb_build_object('namespace', namespace, 'key', key), true
FROM items WHERE content IS NOT NULL;

-- The ids of items below a namespace that meet conditions.
CREATE FUNCTION ltst_items_chosen(whose TEXT, wanted JSONB) RETURNS UUID[] LANGUAGE plpgsql STABLE AS $$
DECLARE
    below CONSTANT TEXT[] := ltst_listed(wanted -> 'namespace');
BEGIN
    RETURN ARRAY(SELECT item_id FROM items
                 WHERE user_id = whose AND path >= ltst_path(below) AND path < ltst_path_after(below)
                   AND namespace[1:cardinality(below)] = below AND content IS NOT NULL
                   AND (expires_at IS NULL OR expires_at > clock_timestamp())
                   AND ltst_value_meets(value, wanted -> 'conditions'));
END $$;

-- The same as before, for items too: `items` has a namespace, and conditions on values.
CREATE OR REPLACE FUNCTION ltst_passing(whose TEXT, filters JSONB) RETURNS INTEGER[] LANGUAGE plpgsql STABLE AS $$
DECLARE
    kinds TEXT[] := ltst_listed(filters -> 'kinds');
    since TIMESTAMPTZ := filters ->> 'since';
    until TIMESTAMPTZ := filters ->> 'until';
    named TEXT := filters ->> 'session_id';
    related BOOLEAN := coalesce((filters -> 'related')::boolean, true);
    sessions BIGINT[] := ARRAY(
        SELECT hashtextextended(id, 0) FROM (
            SELECT named AS id
            UNION SELECT target_session_id FROM session_relationships
            WHERE user_id = whose AND source_session_id = named AND related
            UNION SELECT source_session_id FROM session_relationships
            WHERE user_id = whose AND target_session_id = named AND related) AS near);
    chosen UUID[] := CASE WHEN filters ? 'items' THEN ltst_items_chosen(whose, filters -> 'items') END;
    passing INTEGER[] := ARRAY(
        SELECT unit_no FROM search_units
        WHERE user_id = whose AND (kinds IS NULL OR kind = ANY(kinds)) AND (named IS NULL OR session = ANY(sessions))
          AND (since IS NULL OR occurred_at >= since) AND (until IS NULL OR occurred_at < until)
          AND (chosen IS NULL OR row_id = ANY(chosen)));
BEGIN
    IF NOT filters ?| '{equal,ranges,entry_type}' THEN
        RETURN passing;
    END IF;
    RETURN ARRAY(
        SELECT unit_no FROM search_units JOIN search_sources AS source USING (user_id, row_id)
        WHERE user_id = whose AND unit_no = ANY(passing)
          -- Kinds that have none pass.
          AND (subtype IS NULL OR source.kind <> 'entry' OR NOT filters ? 'entry_type' OR subtype = filters ->> 'entry_type')
          AND metadata @> coalesce(filters -> 'equal', '{}')
          AND NOT EXISTS (
              SELECT FROM (SELECT range ->> 0 AS key, range ->> 1 AS sign, range -> 2 AS value
                           FROM jsonb_array_elements(coalesce(filters -> 'ranges', '[]')) AS range) AS bound
              WHERE NOT coalesce(CASE sign WHEN 'gt' THEN metadata -> key > value WHEN 'gte' THEN metadata -> key >= value
                                           WHEN 'lt' THEN metadata -> key < value WHEN 'lte' THEN metadata -> key <= value
                                 END AND jsonb_typeof(metadata -> key) = jsonb_typeof(value), false)));
END $$;
