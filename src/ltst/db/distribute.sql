-- The statements of distribute.py.

-- What tells whether a database can be distributed, in the order of `Readiness`.
-- name: readiness
SELECT current_setting('server_encoding') = 'UTF8',
       (SELECT groupid = 0 FROM pg_dist_local_group),
       (SELECT count(*)::integer FROM pg_dist_node WHERE shouldhaveshards AND isactive AND noderole = 'primary'),
       format('GRANT CREATE ON DATABASE %I TO %I', current_database(), current_user)

-- The nodes where this role may not make schemas: one that joins later does not get the grants that were made before.
-- name: barred
SELECT nodename || ':' || nodeport
FROM run_command_on_all_nodes('SELECT has_database_privilege(current_database(), ''CREATE'')') AS told
JOIN pg_dist_node USING (nodeid) WHERE success AND result = 'f' ORDER BY 1

-- The other nodes that the coordinator cannot reach.
-- name: unreachable
SELECT nodename || ':' || nodeport FROM pg_dist_node
WHERE isactive AND noderole = 'primary' AND groupid <> 0 AND NOT citus_check_connection_to_node(nodename, nodeport) ORDER BY 1

-- name: adopted
SELECT table_name FROM adopted_tables ORDER BY table_name

-- The tables of the list that Citus does not know yet, in the order of the list.
-- name: lacking
SELECT name FROM unnest(%s::text[]) WITH ORDINALITY AS given (name, place)
WHERE NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass(name)) ORDER BY place

-- What Citus refuses: references that are emptied with what they name, which each place gets back by itself; and those
-- of adopted tables.
-- name: hindrances
SELECT format('ALTER TABLE %I DROP CONSTRAINT %I', class.relname, conname)
FROM pg_constraint JOIN pg_class AS class ON class.oid = conrelid
WHERE relnamespace = current_schema()::regnamespace AND contype = 'f'
  AND (confdeltype = 'n' OR relname = 'adopted_messages')

-- The triggers of tables: how to drop each, and how to make it again; the one for adopted tables stays away.
-- name: triggers
SELECT format('DROP TRIGGER %%I ON %%I', tgname, class.relname),
       CASE WHEN tgname <> 'forget_kept_words_trigger' THEN pg_get_triggerdef(pg_trigger.oid) END
FROM pg_trigger JOIN pg_class AS class ON class.oid = tgrelid
WHERE relnamespace = current_schema()::regnamespace AND relname = ANY(%s::text[]) AND NOT tgisinternal

-- The functions that the nodes do not have yet; those of adopted tables stay here, by their names or by what they declare.
-- name: functions
SELECT pg_proc.oid::regprocedure::text FROM pg_proc
WHERE pronamespace = current_schema()::regnamespace AND proname = ANY(%s::text[]) AND proname NOT LIKE '%%adopted%%'
  AND prosrc !~ '\madopted_messages;'
  AND NOT EXISTS (SELECT FROM pg_dist_object WHERE classid = 'pg_proc'::regclass AND objid = pg_proc.oid)
ORDER BY 1

-- The functions that not everybody may call here, and may on the nodes: Citus takes along who may, not who may not.
-- name: closed
SELECT pg_proc.oid::regprocedure::text FROM pg_proc
JOIN pg_dist_object ON pg_dist_object.classid = 'pg_proc'::regclass AND objid = pg_proc.oid
WHERE pronamespace = current_schema()::regnamespace AND proacl IS NOT NULL
  AND NOT EXISTS (SELECT FROM aclexplode(proacl) WHERE grantee = 0)
ORDER BY 1
