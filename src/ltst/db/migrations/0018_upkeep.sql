-- What an operator asks about users as a whole: what is there of one, and who they are.

-- Counts the rows of a user in the given tables, which are ltst's own.
CREATE FUNCTION ltst_count_user(sought TEXT, tables TEXT[])
RETURNS TABLE (table_name TEXT, held BIGINT) LANGUAGE plpgsql STABLE AS $$
BEGIN
    FOR table_name IN
        SELECT class.relname::text FROM pg_class AS class JOIN pg_attribute AS attribute ON attrelid = class.oid
        WHERE relnamespace = current_schema()::regnamespace AND relname = ANY(tables)
          AND attname = 'user_id' AND NOT attisdropped ORDER BY 1
    LOOP
        EXECUTE format('SELECT count(*) FROM %I WHERE user_id = $1', table_name) INTO held USING sought;
        RETURN NEXT;
    END LOOP;
END $$;

-- Counts them in the tables that are kept of other programs, as `ltst_erase_kept` removes them.
CREATE FUNCTION ltst_count_kept(sought TEXT)
RETURNS TABLE (table_name TEXT, held BIGINT) LANGUAGE plpgsql STABLE SECURITY DEFINER AS $$
DECLARE
    adoption adopted_tables;
BEGIN
    FOR adoption IN SELECT * FROM adopted_tables AS adopted ORDER BY adopted.schema_name, adopted.kept_name LOOP
        table_name := format('%I.%I', adoption.schema_name, adoption.kept_name);
        IF to_regclass(table_name) IS NOT NULL THEN
            EXECUTE format('SELECT count(*) FROM %s WHERE %s = $1', table_name, CASE
                WHEN adoption.columns ? 'user' THEN
                    format('coalesce(%I::text, %L)', adoption.columns ->> 'user', adoption.owner_id)
                ELSE format('%L', adoption.owner_id) END) INTO held USING sought;
            RETURN NEXT;
        END IF;
    END LOOP;
END $$;

-- The users who own a row in one of the tables, by id, from one on. Each is found by a step in the tables' keys, which
-- begin with the user, so that a page costs the same whatever they own. Receipts stand in the ledger under nobody.
CREATE FUNCTION ltst_users(after TEXT, most INTEGER, tables TEXT[])
RETURNS SETOF TEXT LANGUAGE plpgsql STABLE AS $$
DECLARE
    step TEXT := (
        SELECT 'SELECT min(found) FROM (' || string_agg(format(
            'SELECT min(user_id) AS found FROM %I WHERE user_id > $1 AND user_id <> ''system'' '
            'AND user_id NOT LIKE ''erased:%%''', relname), ' UNION ALL ') || ') AS each'
        FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
        WHERE relnamespace = current_schema()::regnamespace AND relname = ANY(tables)
          AND relname <> 'memory_performance_metrics'  -- which holds hashes
          AND attname = 'user_id' AND NOT attisdropped);
    found TEXT := after;
BEGIN
    FOR count IN 1 .. most LOOP
        EXECUTE step INTO found USING found;
        EXIT WHEN found IS NULL;
        RETURN NEXT found;
    END LOOP;
END $$;

-- Like the function that erases there: it reads with its owner's rights, so it finds its names in ltst's schema alone.
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION ltst_count_kept(text) SET search_path = %I, pg_temp', current_schema());
END $$;
REVOKE EXECUTE ON FUNCTION ltst_count_kept(TEXT) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ltst_count_kept(TEXT) TO ltst_keeper;
