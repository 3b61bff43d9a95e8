-- The statements of tables.py, whose names of tables and columns are known only when they are seen.

-- name: settled
SELECT set_config('TimeZone', 'UTC', true), set_config('DateStyle', 'ISO, YMD', true), set_config('IntervalStyle', 'postgres', true), set_config('extra_float_digits', '1', true)

-- name: may_see
SELECT rolsuper OR rolbypassrls OR pg_has_role(rolname, 'ltst_keeper', 'USAGE'), rolname::text
FROM pg_roles WHERE rolname = current_user

-- name: find
SELECT place.nspname::text AS schema, class.relname::text AS name, class.relkind::text AS kind,
       class.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('ltst_migrations')) AS beside,
       class.relrowsecurity AS guarded, pg_get_userbyid(class.relowner)::text AS owner,
       pg_has_role(current_user, class.relowner, 'USAGE')
           AND pg_has_role((SELECT proowner FROM pg_proc WHERE oid = to_regproc('ltst_write_adopted')), class.relowner,
                           'USAGE') AS ours,
       ARRAY(SELECT conname::text FROM pg_constraint WHERE contype = 'f' AND confrelid = class.oid
             AND conrelid <> class.oid ORDER BY 1) AS referred,
       ARRAY(SELECT tgname::text FROM pg_trigger WHERE tgrelid = class.oid AND NOT tgisinternal ORDER BY 1) AS triggers,
       ARRAY(SELECT DISTINCT reading.relname::text
             FROM pg_depend AS need JOIN pg_rewrite AS rule ON rule.oid = need.objid
             JOIN pg_class AS reading ON reading.oid = rule.ev_class
             WHERE need.classid = 'pg_rewrite'::regclass AND need.refobjid = class.oid AND rule.ev_class <> class.oid)
           AS views
FROM pg_class AS class JOIN pg_namespace AS place ON place.oid = class.relnamespace
WHERE class.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND (place.nspname = ANY (current_schemas(false))
           AND %(table)s::text IN (class.relname::text, quote_ident(class.relname))
       OR %(table)s::text IN (place.nspname || '.' || class.relname,
                        quote_ident(place.nspname) || '.' || quote_ident(class.relname)))
ORDER BY array_position(current_schemas(false), place.nspname) NULLS LAST LIMIT 1

-- name: columns
SELECT attname::text AS name, format_type(atttypid, atttypmod) AS type, type.typname::text AS base,
       type.typcategory::text AS category, attgenerated <> '' AS generated,
       pg_get_serial_sequence(quote_ident(nspname) || '.' || quote_ident(relname), attname) AS sequence,
       pg_get_expr(adbin, adrelid) AS "default", attnotnull AS required,
       EXISTS (SELECT FROM pg_index WHERE indrelid = class.oid AND indisunique AND indpred IS NULL AND indnkeyatts = 1
               AND indkey[0] = attnum) AS "unique",
       EXISTS (SELECT FROM pg_index WHERE indrelid = class.oid AND indisprimary AND indnkeyatts = 1
               AND indkey[0] = attnum) AS key
FROM pg_attribute JOIN pg_class AS class ON class.oid = attrelid JOIN pg_namespace ON pg_namespace.oid = relnamespace
JOIN pg_type AS type ON type.oid = atttypid
LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE nspname = %(schema)s AND relname = %(table)s AND attnum > 0 AND NOT attisdropped ORDER BY attnum

-- name: conversation_parts
SELECT ltst_role(old.word) AS role, old.content, '{}'::jsonb AS body

-- name: langchain_parts
SELECT part.role, part.content, part.metadata AS body FROM ltst_read_langchain(CASE jsonb_typeof(old.message) WHEN 'object' THEN old.message END) AS part

-- name: read
SELECT *, CASE WHEN fault IS NULL THEN row_number() OVER (PARTITION BY fault IS NULL, owner, session ORDER BY {order})
          END::integer AS number
FROM (
    SELECT old.place, old.id, old.row, old.owner, old.session::text AS session, old.word, old.message, old.happened,
           old.columns, part.role, part.content, part.body,
           CASE
               WHEN old.session IS NULL OR old.session::text !~ '\S' THEN 'the session id is missing or blank'
               WHEN length(old.session::text) > 255 THEN 'the session id is longer than 255 characters'
               WHEN old.owner !~ '\S' THEN 'the user id is blank'
               WHEN length(old.owner) > 255 THEN 'the user id is longer than 255 characters'
               WHEN old.owner = 'system' THEN 'the user id "system" is reserved'
               WHEN {unnamed} THEN 'the id is missing'
               WHEN old.twice THEN 'the id is that of another row too'
               WHEN old.broken IS NOT NULL
                   THEN 'the column "' || old.broken || '" holds what cannot be kept as JSON, such as \u0000'
               WHEN part.role IS NULL AND old.word IS NULL THEN 'the role is missing or unknown'
               WHEN part.role IS NULL THEN 'the role "' || left(old.word, 40) || '" is unknown'
               WHEN part.content IS NULL THEN 'the content is missing'
               WHEN octet_length(part.content) > {largest} THEN 'the content is longer than {largest} bytes'
               WHEN NOT isfinite(old.happened) OR extract(year FROM old.happened) NOT BETWEEN 2 AND 9998
                   THEN 'the date is outside of the years 2 to 9998'
               WHEN EXISTS (SELECT FROM conversation_sessions AS known
                            WHERE known.user_id = old.owner AND known.session_id = old.session::text
                              AND known.adoption_id IS DISTINCT FROM {adoption}::uuid)
                   THEN 'the user has another conversation with this session id in ltst'
           END AS fault
    FROM (
        SELECT old.*, {twice} AS twice FROM (
            SELECT old.ctid AS place, {id} AS id, {row}::text AS row, {owner} AS owner, {session} AS session,
                   {word} AS word, {content} AS content, {message} AS message, {happened} AS happened,
                   {columns} AS columns, {broken} AS broken
            FROM {table} AS old) AS old) AS old
    CROSS JOIN LATERAL ({parts}) AS part
) AS seen
