-- The statements of migrate.py.

-- name: clashes
SELECT format('%%I.%%I', current_schema(), relname) FROM pg_class
WHERE relnamespace = current_schema()::regnamespace AND relname = ANY (%s) ORDER BY 1

-- name: requirements
SELECT current_setting('server_version_num')::integer, current_user::text, current_schema()::text,
       coalesce(has_schema_privilege(current_schema(), 'CREATE'), false),
       (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
       (SELECT default_version FROM pg_available_extensions WHERE name = 'vector'),
       coalesce((SELECT bool_or(trusted) FROM pg_available_extension_versions WHERE name = 'vector'), false)
           AND has_database_privilege(current_database(), 'CREATE'),
       me.rolsuper,
       me.rolcreaterole,
       ARRAY(SELECT wanted FROM unnest(ARRAY['ltst_user', 'ltst_keeper']) AS wanted
             WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted)),
       ARRAY(SELECT rolname::text FROM pg_roles WHERE rolname IN ('ltst_user', 'ltst_keeper')
             AND NOT pg_has_role(me.rolname, rolname, CASE
                 WHEN current_setting('server_version_num')::integer < 160000 THEN 'MEMBER' ELSE 'SET' END)
             AND NOT pg_has_role(me.rolname, rolname, 'MEMBER WITH ADMIN OPTION')),
       ARRAY(SELECT rolname::text FROM pg_roles WHERE rolname IN ('ltst_user', 'ltst_keeper')
             AND pg_has_role(me.rolname, rolname, 'MEMBER'))
FROM pg_roles AS me WHERE me.rolname = current_user
