-- The statements of repair.py.

-- name: columns
SELECT class.relname || '.' || attname FROM pg_attribute JOIN pg_class AS class ON class.oid = attrelid
WHERE class.relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND attnum > 0 AND NOT attisdropped

-- name: functions
SELECT proname::text, prosrc FROM pg_proc WHERE pronamespace = current_schema()::regnamespace

-- name: views
SELECT relname::text FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'v'

-- name: triggers
SELECT tgname || ' on ' || class.relname, tgenabled <> 'D' FROM pg_trigger JOIN pg_class AS class ON class.oid = tgrelid
WHERE NOT tgisinternal AND class.relnamespace = current_schema()::regnamespace

-- name: indexes
SELECT class.relname::text, indisvalid FROM pg_index JOIN pg_class AS class ON class.oid = indexrelid
WHERE class.relnamespace = current_schema()::regnamespace

-- name: isolation
SELECT relname::text, relrowsecurity AND relforcerowsecurity FROM pg_class
WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')

-- name: models
SELECT number, dimensions, state FROM embedding_models
